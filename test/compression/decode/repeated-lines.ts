const AGAIN = /^\[gw: next (\d+) lines as after this line before\]$/;
const CYCLE = /^\[gw: the last (?:(\d+) lines|line) (\d+) more times\]$/;

/** Undoes `foldRepeats`. */
export function restoreRepeats(text: string): string {
  const lines: string[] = [];
  const lastAt = new Map<string, number>();
  const push = (line: string) => {
    lastAt.set(line, lines.length);
    lines.push(line);
  };
  let from = 0;
  for (const line of text.split('\n')) {
    const again = AGAIN.exec(line);
    const cycle = CYCLE.exec(line);
    if (again) {
      for (let i = 1; i <= Number(again[1]); i++) push(lines[from + i] ?? '');
    } else if (cycle) {
      const period = Number(cycle[1] ?? 1);
      for (let i = period * Number(cycle[2]); i > 0; i--) push(lines[lines.length - period] ?? '');
    } else {
      from = lastAt.get(line) ?? 0;
      push(line);
    }
  }
  return lines.join('\n');
}
