"""What the machine lends this process: cores and memory, descriptors. Nothing is imported here: the command line's help
needs one of the modules and not the other."""
