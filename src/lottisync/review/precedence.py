"""Whose word a write is: the two precedences of the data layer, by the names that they have here.

A transaction is opened with one of them. One that is opened with `AGENT` cannot write with `PERSON`: code that acts for
a model has no way to speak for the person, by mistake or otherwise.
"""

from lottisync.entities.entity import HIGH, LOW

PERSON, AGENT = HIGH, LOW
