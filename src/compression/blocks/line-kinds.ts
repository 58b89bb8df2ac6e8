const TIME = /\b\d{1,2}:\d{2}:\d{2}\b|\b\d{4}[-/.]\d{2}[-/.]\d{2}|^\W{0,3}\d{5,}\b/;
const SAMPLE = 120;

/** Whether most of a text's first lines contain a timestamp, like the lines of a log. */
export function isDated(text: string): boolean {
  const lines = text.split('\n', SAMPLE).filter((line) => line.trim() !== '');
  const dated = lines.filter((line) => TIME.test(line.slice(0, 90))).length;
  return lines.length >= 5 && dated * 2 > lines.length;
}

const STARTS =
  /^\W{0,3}(?:\d{5,}\b|\d{1,4}[-/.:]\d{2}|[A-Z][a-z]{2} (?:[A-Z][a-z]{2} )? ?\d{1,2} \d{1,2}:\d{2})/;

/** Whether most lines start with a timestamp. Then they are messages, not records that happen to contain a date. */
export function startsDated(text: string): boolean {
  const lines = text.split('\n', SAMPLE).filter((line) => line.trim() !== '');
  return lines.filter((line) => STARTS.test(line)).length * 2 > lines.length;
}

/** A line of code. A search result is excluded: it starts with its file name. */
const CODE =
  /^(?!\S+:\d+:).*(?:[{};]|\):|[)\]],|=>)$|^\s*(?:return|import|from|def|const|let|var|if|for|while|function|class|public|private)\b/;

/** Output that only test runners print: banners, and verdicts at the start of lines. */
const TEST_RUN =
  /^(?:={5,} .*={5}$|_{5,} .*_{5}$|--- (?:PASS|FAIL|SKIP): |(?:PASS|FAIL|ok) {1,4}\t?\S|[ \t]*[✓✔✕✗×] |test result: |Tests?: +\d)/m;

/** Sections and settings of TOML and INI files. */
const SECTION = /^\[\[?[\w.": -]+\]\]?$/;
const SETTING = /^\s*[\w.-]+ ?= ?\S/;

const FRAME = /^\s+(?:at \S.*[:(]|File ".{1,300}", line \d)/;

/** The first line of a `git log` entry, whose message is indented. */
const COMMIT = /^commit [0-9a-f]{40}\b/m;

/**
 * Whether a text is source code or configuration, in which repeated lines must stay. Its lines end like code, or
 * most of them are indented.
 */
export function isSource(text: string): boolean {
  const lines = text.split('\n', SAMPLE).filter((line) => line.trim() !== '');
  const code = lines.filter((line) => line.length < 500 && CODE.test(line)).length;
  // Stack frames are indented like code.
  if (lines.filter((line) => FRAME.test(line)).length * 5 >= lines.length) return false;
  const indented = lines.filter((line) => /^(?: {2}|\t)/.test(line)).length;
  if (isDated(text) || TEST_RUN.test(text) || COMMIT.test(text)) return false;
  return code * 5 >= lines.length || indented * 5 >= lines.length * 2 || isSettings(lines);
}

function isSettings(lines: readonly string[]): boolean {
  const settings = lines.filter((line) => SETTING.test(line)).length;
  return settings * 2 > lines.length && lines.some((line) => SECTION.test(line));
}

/** Whether a text is a table with a header line, so that its rows are data rather than messages. */
export function isTable(text: string): boolean {
  const [head = '', ...rows] = text.split('\n', SAMPLE).filter((line) => line.trim() !== '');
  if (/\d/.test(head)) return false;
  const mark = [',', ';', '\t', '|'].find((sign) => head.includes(sign)) ?? /\s+/;
  const columns = head.trim().split(mark).length;
  // The last column of a listing may contain spaces.
  const most = typeof mark === 'string' ? columns : columns + 3;
  const like = rows.filter((row) => {
    const cells = row.trim().split(mark).length;
    return cells >= columns && cells <= most;
  });
  return columns > 1 && like.length * 10 >= rows.length * 9;
}
