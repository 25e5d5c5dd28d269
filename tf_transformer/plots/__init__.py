"""Pictures: figures in, a PNG or SVG file out."""
