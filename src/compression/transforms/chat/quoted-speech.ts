const QUOTED_SPEECH = /^(\p{Lu}[\p{L}\p{N}_'.-]{0,20}(?: [\p{L}\p{N}_'.-]{1,20}){0,2}) said, "(.*)"$/u;
const WRITTEN = /^([^:]{1,70}): (.*)$/;
const MIN_LINES = 8;

/** The lines of a chat that is told, `Ann said, "Hello."`, as one that is written, `Ann: Hello.` */
export interface Dialogue {
  speakers: readonly string[];
  lines: readonly string[];
}

/** Writes what people said after their names alone; undefined where it is no chat that is told. */
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
  // A line that was written so could be taken for one that was said.
  return quoteSpeech(dialogue).every((line, i) => line === lines[i]) ? dialogue : undefined;
}

/** Undoes `dropSaid`. */
export function quoteSpeech({ speakers, lines }: Dialogue): string[] {
  const names = new Set(speakers);
  return lines.map((line) => {
    const [, name = '', text] = WRITTEN.exec(line) ?? [];
    return names.has(name) ? `${name} said, "${text}"` : line;
  });
}
