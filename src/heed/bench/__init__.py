"""HOW FAST IT IS HERE: training, translating and preparing, measured on the user's own machine."""
