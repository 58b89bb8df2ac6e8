const TIME = /\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d{4}[-/.]\d{2}[-/.]\d{2}|^\W{0,3}\d{5,}\b/;
const SAMPLE = 120;

/** Whether most of a text's first lines carry a time, as the lines of a log do. */
export function isDated(text: string): boolean {
  const lines = text.split('\n', SAMPLE).filter((line) => line.trim() !== '');
  const dated = lines.filter((line) => TIME.test(line.slice(0, 90))).length;
  return lines.length >= 5 && dated * 2 > lines.length;
}

/** A line of code, unless a search found it: then its file's name stands before it. */
const CODE =
  /^(?!\S+:\d+:).*(?:[{};]|\):|[)\]],|=>)$|^\s*(?:return|import|from|def|const|let|var|if|for|while|function|class|public|private)\b/;

/** Whether a text is source code: then every line is meant as it is, however alike they are. */
export function isCode(text: string): boolean {
  const lines = text.split('\n', SAMPLE).filter((line) => line.trim() !== '');
  const code = lines.filter((line) => line.length < 500 && CODE.test(line)).length;
  return code * 5 >= lines.length && !isDated(text);
}
