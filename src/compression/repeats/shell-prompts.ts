/** A shell prompt on a line of its own. */
const PROMPT = /^\S{0,80}[$#%>] ?$/;
/** The prompt is among this many last lines; only this much of the text is searched for them. */
const LAST_LINES = 2;
const MAX_LENGTH = 2000;

/** Whether a text ends with a shell prompt, as terminal output that is sent to a model does. */
export function endsWithPrompt(text: string): boolean {
  const lines = text.slice(-MAX_LENGTH).split('\n').slice(-LAST_LINES);
  return lines.some((line) => PROMPT.test(line));
}
