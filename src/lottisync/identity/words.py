"""The words two paired devices show, so that a person sees at a glance that they mean each other.

256 nouns, one per byte, chosen for this list: short, concrete, in alphabetical order, and each different from
every other within its first four letters. The words are not a proof (the code was the proof): four of them catch the
person who paired with the device in the next room.

The list is part of the protocol: two devices with different lists would show different words for the same key.
It never changes within a pairing version.

Spec: docs/specs/06-identity-and-pairing.md, PAIR-16.
"""

_TEXT = """
acorn album amber anchor apple apron arrow attic autumn badge bagel balcony bamboo banjo barn basket beacon
bench berry bicycle birch biscuit blanket boat bonfire bottle bridge broom bucket butter cabbage cabin
cactus camel candle canyon caramel carpet castle cedar cello chalk cherry chimney cinema circle clay clock
cloud clover coast cobalt comet compass copper coral cotton cradle crayon cricket crystal cup curtain daisy
dawn desert diamond dolphin domino donkey dragon drawer drum duck dune eagle easel echo elbow elm ember
engine envelope falcon fern ferry fiddle finch flag flute forest fossil fountain fox frost fudge galaxy
garden garlic gate geyser ginger giraffe glacier glove goose grape gravel guitar hammer harbor harp hat
hazel hedge helmet heron hill honey horizon hotel igloo inkwell iris island ivory ivy jacket jaguar jar
jasmine jelly jigsaw jungle kayak kettle kitchen kite kiwi koala ladder lagoon lake lamp lantern lark
lavender lemon lettuce library lilac linen lizard lobster locket lotus magnet mango maple marble meadow
melon mill mirror mitten moon moss mountain muffin mural museum mustard napkin needle nest nickel noodle
nutmeg oak oasis oboe ocean olive onion opal orange orchid otter oven owl oyster paddle palm pancake panda
parrot pear pebble pelican pencil pepper piano pigeon pillow pine planet plum pocket pond poppy postcard
potato prism puddle pumpkin puzzle quartz queen quill rabbit radish raft rainbow raven reed ribbon river
robin rocket rope ruby saddle salmon sandal saturn scarf seal shadow shell silver sketch sled spoon spruce
squash stable statue sunset swan table teapot thimble tiger toast tulip violet
"""

WORDS: tuple[str, ...] = tuple(_TEXT.split())
