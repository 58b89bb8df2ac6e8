const QUOTED_SPEECH = /^(\p{Lu}[\p{L}\p{N}_'.-]{0,20}(?: [\p{L}\p{N}_'.-]{1,20}){0,2}) said, "(.*)"$/u;
const WRITTEN = /^([^:]{1,70}): (.*)$/;
const MIN_LINES = 8;

/** Reported speech (`Ann said, "Hello."`) as lines of a dialogue (`Ann: Hello.`). */
export interface Dialogue {
  speakers: readonly string[];
  lines: readonly string[];
}

/** Turns reported speech into a dialogue; undefined if the lines are not reported speech. */
export function unquoteSpeech(lines: readonly string[]): Dialogue | undefined {
  const counts = new Map<string, number>();
  let total = 0;
  for (const line of lines) {
    const name = QUOTED_SPEECH.exec(line)?.[1];
    if (name === undefined) continue;
    total++;
    counts.set(name, (counts.get(name) ?? 0) + 1);
  }
  const speakers = [...counts.keys()];
  if (total < MIN_LINES || speakers.length < 2 || speakers.length * 4 > total) return undefined;
  const dialogue = { speakers, lines: lines.map((line) => line.replace(QUOTED_SPEECH, '$1: $2')) };
  // A line that already looks like dialogue could be mistaken for reported speech.
  return quoteSpeech(dialogue).every((line, i) => line === lines[i]) ? dialogue : undefined;
}

/** Undoes `unquoteSpeech`. */
export function quoteSpeech({ speakers, lines }: Dialogue): string[] {
  const names = new Set(speakers);
  return lines.map((line) => {
    const [, name = '', text] = WRITTEN.exec(line) ?? [];
    return names.has(name) ? `${name} said, "${text}"` : line;
  });
}
