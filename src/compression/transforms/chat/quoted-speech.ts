const SAID = /^(\p{Lu}[\p{L}\p{N}_'.-]{0,20}(?: [\p{L}\p{N}_'.-]{1,20}){0,2}) said, "(.*)"$/u;
const WRITTEN = /^([^:]{1,70}): (.*)$/;
const MIN_LINES = 8;

/** The lines of a chat that is told, `Ann said, "Hello."`, as one that is written, `Ann: Hello.` */
export interface Written {
  speakers: readonly string[];
  lines: readonly string[];
}

/** Writes what people said after their names alone; undefined where it is no chat that is told. */
export function dropSaid(lines: readonly string[]): Written | undefined {
  const counts = new Map<string, number>();
  let said = 0;
  for (const line of lines) {
    const name = SAID.exec(line)?.[1];
    if (name === undefined) continue;
    said++;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const speakers = [...counts.keys()];
  if (said < MIN_LINES || speakers.length < 2 || speakers.length * 4 > said) return undefined;
  const written = { speakers, lines: lines.map((line) => line.replace(SAID, '$1: $2')) };
  // A line that was written so could be taken for one that was said.
  return restoreSaid(written).every((line, i) => line === lines[i]) ? written : undefined;
}

/** Undoes `dropSaid`. */
export function restoreSaid({ speakers, lines }: Written): string[] {
  const known = new Set(speakers);
  return lines.map((line) => {
    const [, name = '', text] = WRITTEN.exec(line) ?? [];
    return known.has(name) ? `${name} said, "${text}"` : line;
  });
}
