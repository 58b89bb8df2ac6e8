import { type Format, type Path, pathText, SettingsConflict } from './change.ts';
import { eolOf, lineEnd, lineRemoval, spliced } from './source-text.ts';

/** The beginning of a line that sets a variable. */
const NAME = /^[ \t]*(?:export[ \t]+)?([\w.-]+)[ \t]*=[ \t]*/gm;

/** A variable, with the range of its value. A quoted value may have several lines. */
interface Variable {
  name: string;
  start: number;
  end: number;
  value: string;
}

function variablesIn(text: string): Variable[] {
  const variables: Variable[] = [];
  let after = 0;
  for (const { 0: line, 1: name = '', index } of text.matchAll(NAME)) {
    if (index < after) continue;
    const start = index + line.length;
    const end = quotedEnd(text, start) ?? plainEnd(text, start);
    variables.push({ name, start, end, value: unquoted(text.slice(start, end)) });
    after = end;
  }
  return variables;
}

/** The end of a value in quotes; undefined if it has none, or no closing one. */
function quotedEnd(text: string, start: number): number | undefined {
  const quote = text[start];
  if (quote !== '"' && quote !== "'" && quote !== '`') return undefined;
  for (let at = start + 1; at < text.length; at++) {
    if (quote === '"' && text[at] === '\\') at++;
    else if (text[at] === quote) return at + 1;
  }
  return undefined;
}

function plainEnd(text: string, start: number): number {
  const note = text.indexOf('#', start);
  const end = lineEnd(text, start);
  return start + text.slice(start, note < 0 ? end : Math.min(note, end)).trimEnd().length;
}

/** https://github.com/motdotla/dotenv#readme */
function unquoted(source: string): string {
  const [quote = ''] = source;
  if (!/["'`]/.test(quote) || source.length < 2) return source;
  const inner = source.slice(1, -1);
  return quote === '"' ? inner.replaceAll('\\n', '\n').replaceAll('\\r', '\r') : inner;
}

/** The variable at a path; the last one, if there are several. */
function variableAt(text: string, path: Path): Variable | undefined {
  const [name] = path;
  if (path.length !== 1 || typeof name !== 'string')
    throw new SettingsConflict(`${pathText(path)} is no variable`);
  return variablesIn(text).findLast((each) => each.name === name);
}

/** A file of variables, as dotenv reads it. */
export const dotenv: Format = {
  // What sets no variable is left as it stands.
  parse(text) {
    const variables = variablesIn(text).map(({ name, value }) => [name, value]);
    return variables.length === 0 ? undefined : Object.fromEntries(variables);
  },
  source(text, path) {
    const found = variableAt(text, path);
    return found && text.slice(found.start, found.end);
  },
  print: (value) => {
    const text = String(value);
    return /^[\w./:@+-]*$/.test(text) ? text : `'${text}'`;
  },
  set(text, path, source) {
    const found = variableAt(text, path);
    if (found) return spliced(text, [{ ...found, text: source }]);
    const eol = eolOf(text);
    const line = `${String(path[0])}=${source}`;
    return text === '' || text.endsWith('\n') ? text + line + eol : text + eol + line;
  },
  remove(text, path) {
    const found = variableAt(text, path);
    return found ? spliced(text, [lineRemoval(text, found.start, found.end)]) : text;
  },
};
