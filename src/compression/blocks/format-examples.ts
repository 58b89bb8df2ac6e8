/** A line that opens a fence. */
export const FENCE = /^ {0,3}(`{3,}|~{3,})[ \t]*([\w+#.-]*)/;
const SAMPLE =
  /\b(?:formats?|schema|template|structured?|looks? like|like this|as follows|(?:respond|reply|answer) with|return (?:an?|the|your)|examples?)\b/i;

/** Whether the JSON at this line is a sample of the wanted answer: an instruction, not data. */
export function isSample(lines: readonly string[], at: number): boolean {
  const first = FENCE.test(lines[at] ?? '') ? lines[at + 1] : lines[at];
  if (!/^\s*[[{]/.test(first ?? '')) return false;
  const before = lines[at - 1]?.trim() === '' ? lines[at - 2] : lines[at - 1];
  return SAMPLE.test(before ?? '');
}
