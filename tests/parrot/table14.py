"""The 21 rows of Table 14 of the parrot-caption paper: each caption and its listed text.

Lin et al., ECCV 2024: https://arxiv.org/abs/2312.14232.
"""

TABLE_14 = [
    (
        "BEST DOCUMENTARY - Christian Film Festival - 2017 (1).png",
        "BEST DOCUMENTARY Christian Film Festival 2017",
    ),
    ("how-to-make-bubbles-that-bounce", "how to make bubbles that bounce"),
    (
        "Denver Broncos Carbon Small Over Small Metal Acrylic Cut License Plate Frame",
        "Denver Broncos",
    ),
    (
        "Title details for The Great Derangement by Amitav Ghosh - Available",
        "The Great Derangement by Amitav Ghosh",
    ),
    ("Byron Wheelstand Contest 2017", "Byron Wheelstand Contest 2017"),
    (
        "dental marketing and practice management ideas for January - winter dental marketing ideas"
        " betty hayden consulting",
        "dental practice management ideas for January betty hayden consulting",
    ),
    ("Best Sheep Trainer Alive Frosted Glass Mug", "Best Sheep Trainer Alive"),
    (
        "[THQ VIETNAM] VICO AUTOMATIC WASHING POWDER 3KG X 4 PACKS",
        "VICO AUTOMATIC WASHING POWDER",
    ),
    ("Nobody Knows But You by Anica Mrose Rissi", "Nobody Knows But You Anica Mrose Rissi"),
    ("Bon Jovi Poster from Arco Arena on 15 Mar 93: 11 x 17", "Bon Jovi Arco Arena 15"),
    (
        "Enriching our Vision of Reality de Alister Mcgrath",
        "Alister Mcgrath Enriching our Vision of Reality",
    ),
    ("March Favorites 2014 — FreshExpectations", "March Favorites 2014"),
    (
        "Wine Sense: The Art of Appreciating Wine by Steve Shipley",
        "Wine Sense: The Art of Appreciating Wine by Steve Shipley",
    ),
    ("Flute is my super power Tote Bag", "Flute is my super power"),
    (
        "My Son Lives To Protect Rabbits Travel Speaker",
        "My Son Lives To Protect Rabbits",
    ),
    ("Poster: KEEP CALM AND LOVE WILL SINGE", "KEEP CALM AND LOVE WILL SINGE"),
    (
        "Olympic Games - The Myth Audiobook by Tina Angelou Narrated by Danae Phelps",
        "Olympic Games The Myth Tina Angelou",
    ),
    (
        "11/16/2012 never forget - 11/16/2012 never forget Twinkie RIP",
        "11/16/2012 never forget Twinkie",
    ),
    ("SYSTEM OF A DOWN : TOXICITY [ECO STYLE] (CD)", "SYSTEM OF A DOWN TOXICITY"),
    (
        "Text reads: how to create healthy habits for swim parents. A blue text box below reads: 7"
        " habits for swim parents to learn",
        "how to create healthy habits for swim parents 7 habits for swim parents to learn",
    ),
    ("Be Mine Wall Clock", "Be Mine"),
]
