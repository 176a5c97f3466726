/** The word that `word` probably misspells, at most one edit for each three letters; `undefined` if no word is so close. */
export function closestMatch(word: string, words: readonly string[]): string | undefined {
  const allowed = Math.max(1, Math.floor(word.length / 3));
  return words
    .filter((candidate) => Math.abs(candidate.length - word.length) <= allowed)
    .map((candidate) => ({ candidate, distance: distance(word.toLowerCase(), candidate.toLowerCase()) }))
    .filter((entry) => entry.distance <= allowed)
    .sort((a, b) => a.distance - b.distance)[0]?.candidate;
}

/** Levenshtein's edit distance, one row at a time. */
function distance(from: string, to: string): number {
  let row = Array.from({ length: to.length + 1 }, (_, index) => index);
  for (let i = 0; i < from.length; i++) {
    const next = [i + 1];
    for (let j = 0; j < to.length; j++) {
      const replaced = (row[j] ?? 0) + (from[i] === to[j] ? 0 : 1);
      next.push(Math.min(replaced, (row[j + 1] ?? 0) + 1, (next[j] ?? 0) + 1));
    }
    row = next;
  }
  return row.at(-1) ?? 0;
}
