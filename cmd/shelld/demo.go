package main

func demo([]string) int { return 1 }
