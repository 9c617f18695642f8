# Reads a profile of go test -coverpkg and prints the share of statements that some test reached:
# of each package below the wanted share, and of all together. Exits with 1 if that is too little.
#
#   awk -v want=80 -f coverage.awk cover.out
#
# Every test binary lists every block, so a block counts once, as reached if any binary reached it.
# Generated files (*_gen.go) are left out: nothing else is.

FNR == 1 || $1 ~ /_gen\.go:/ { next } # the mode line

{
	size[$1] = $2
	if ($3 > 0) reached[$1] = 1
}

END {
	for (block in size) {
		package = block
		sub(/\/[^\/]*$/, "", package)
		all[package] += size[block]
		hit[package] += reached[block] * size[block]
		total += size[block]
		totalHit += reached[block] * size[block]
	}
	if (total == 0) {
		print "the coverage profile is empty"
		exit 1
	}
	for (package in all)
		if (100 * hit[package] < want * all[package])
			printf "below %d %%: %5.1f %%  %s\n", want, 100 * hit[package] / all[package], package | "sort -k 4"
	close("sort -k 4")
	printf "coverage: %.1f %% of %d statements\n", 100 * totalHit / total, total
	if (100 * totalHit < want * total) {
		printf "that is less than %d %%\n", want
		exit 1
	}
}
