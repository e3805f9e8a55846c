"""Made worlds, of drawn glyphs and scanned digits, and real clip art."""
