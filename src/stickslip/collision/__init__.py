"""Where bodies touch: pairs that come near, and the points, normals and gaps between their shapes."""
