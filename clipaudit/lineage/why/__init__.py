"""Why a number is what it is: the rows that entered it, and the actions below them."""
