"""Worlds that the project makes by itself, drawn glyphs and scanned digits, and real clip art."""
