const LINES_MARK = /^\[gw: "([\s\S]{24})…"(?: and (\d+) more lines?)? as before\]$/;
const NAME = 24;

/** Undoes `Boilerplate.cut`: puts the first and last lines back, given the texts that went out before, in order. */
export function restoreEnds(text: string, before: readonly string[]): string {
  const lines = before.flatMap((each) => each.split('\n'));
  return text
    .split('\n')
    .flatMap((line) => {
      const [, name, more = '0'] = LINES_MARK.exec(line) ?? [];
      if (name === undefined) return [line];
      const at = lines.findLastIndex((each) => each.trimStart().slice(0, NAME) === name);
      return lines.slice(at, at + 1 + Number(more));
    })
    .join('\n');
}
