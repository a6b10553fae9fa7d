"""What a person describes: bodies, shapes, materials and joints; and the arrays a scene is compiled to."""
