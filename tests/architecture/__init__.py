"""The shape of the house: who may import whom, what the public face is, what files may hold."""
