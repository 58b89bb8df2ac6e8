/** A shell's prompt, on a line of its own. */
const PROMPT = /^\S{0,80}[$#%>] ?$/;
/** How far up from the end of a text a footer may reach, and where its prompt stands. */
const MAX_LINES = 6;
const MAX_LENGTH = 2000;
const PROMPT_WITHIN = 2;
/** A shorter footer is as short as its mark. */
const MIN_LENGTH = 60;
const MARK = /\[gw: last (\d+) lines as before\]$/;

/** The last lines of what an agent's shell printed, with its prompt: where it is, and what is open. */
export function footerOf(text: string): string[] | undefined {
  const lines = text.slice(-MAX_LENGTH).split('\n').slice(-MAX_LINES);
  return lines.slice(-PROMPT_WITHIN).some((line) => PROMPT.test(line)) ? lines : undefined;
}

/** How many of the last lines say again how the text before of the same role ended; 0 where that saves nothing. */
export function countFooter(text: string, before: readonly string[] | undefined): number {
  const lines = before && footerOf(text);
  if (!lines) return 0;
  let count = 0;
  // The first line may have been cut.
  while (count < Math.min(lines.length, before.length) - 1 && lines.at(-1 - count) === before.at(-1 - count))
    count++;
  const footer = lines.slice(lines.length - count);
  return footer.join('\n').length >= MIN_LENGTH && footer.some((line) => PROMPT.test(line)) ? count : 0;
}

/** Splits off so many lines at the end; `body` ends with its line. */
export function splitFooter(text: string, count: number): { body: string; mark: string } {
  let at = text.length;
  for (let i = 0; i < count; i++) at = text.lastIndexOf('\n', at - 1);
  return { body: text.slice(0, at + 1), mark: `[gw: last ${count} lines as before]` };
}

/** The text with its footer, given how the text before of the same role ended; undoes `splitFooter`. */
export function restoreFooter(text: string, before: readonly string[]): string {
  const count = Number(MARK.exec(text)?.[1] ?? 0);
  return count === 0 ? text : text.replace(MARK, () => before.slice(-count).join('\n'));
}
