"""Measure the speed of training, translating and preparing on the user's own machine."""
