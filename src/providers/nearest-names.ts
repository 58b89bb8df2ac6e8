/** Longer names are not typos. */
const MAX_LENGTH = 100;
const MAX_NAMES = 3;

/** Up to three names that `name` is likely a misspelling of, nearest first. */
function nearestNames(name: string, names: Iterable<string>): string[] {
  const lowerName = name.toLowerCase();
  if (lowerName.length > MAX_LENGTH) return [];
  const most = Math.max(1, Math.floor(lowerName.length / 4));
  const near: { each: string; edits: number }[] = [];
  for (const each of new Set(names)) {
    if (each === name || Math.abs(each.length - lowerName.length) > most) continue;
    const edits = editsBetween(lowerName, each.toLowerCase());
    if (edits <= most) near.push({ each, edits });
  }
  near.sort((a, b) => a.edits - b.edits || (a.each < b.each ? -1 : 1));
  return near.slice(0, MAX_NAMES).map(({ each }) => each);
}

/** ` Did you mean a or b?`; empty without a near name. */
export function didYouMean(name: string, names: Iterable<string>): string {
  const near = nearestNames(name, names);
  return near.length === 0 ? '' : ` Did you mean ${near.join(' or ')}?`;
}

/** Edit distance: insertions, deletions, replacements and swaps of neighbours (optimal string alignment). */
function editsBetween(a: string, b: string): number {
  let beforeLast: number[] = [];
  let last = Array.from({ length: b.length + 1 }, (_, i) => i);
  for (let i = 1; i <= a.length; i++) {
    const row = [i];
    for (let j = 1; j <= b.length; j++) {
      const isSame = a[i - 1] === b[j - 1];
      let edits = Math.min((last[j] ?? 0) + 1, (row[j - 1] ?? 0) + 1, (last[j - 1] ?? 0) + (isSame ? 0 : 1));
      if (i > 1 && j > 1 && a[i - 1] === b[j - 2] && a[i - 2] === b[j - 1])
        edits = Math.min(edits, (beforeLast[j - 2] ?? 0) + 1);
      row.push(edits);
    }
    beforeLast = last;
    last = row;
  }
  return last[b.length] ?? 0;
}
