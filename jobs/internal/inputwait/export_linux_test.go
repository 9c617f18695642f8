package inputwait

// Limited is New for a machine on which no more can be seen than in this tier.
func Limited(t Target, best int) *Prober {
	p := New(t)
	p.best = tier(best)
	return p
}
