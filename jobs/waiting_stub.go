package jobs

func InputDetection() (tier, why string) { return "exact", "" }
