const TIME = /\b\d{1,2}:\d{2}(?::\d{2})?\b|\b\d{4}[-/.]\d{2}[-/.]\d{2}|^\W{0,3}\d{5,}\b/;
const SAMPLE = 120;

/** Whether most of a text's first lines carry a time, as the lines of a log do. */
export function isDated(text: string): boolean {
  const lines = text.split('\n', SAMPLE).filter((line) => line.trim() !== '');
  const dated = lines.filter((line) => TIME.test(line.slice(0, 90))).length;
  return lines.length >= 5 && dated * 2 > lines.length;
}
