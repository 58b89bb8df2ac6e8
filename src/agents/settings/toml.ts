import { type AST, getStaticTOMLValue, parseTOML } from 'toml-eslint-parser';
import { messageOf } from '../../errors.ts';
import { type Format, type Path, pathText, SettingsConflict, SettingsSyntaxError } from './change.ts';
import { insertInFlow, removeFromFlow } from './flow.ts';
import { eolOf, indentAt, lineEnd, lineRemoval, lineStart, spliced } from './source-text.ts';
import type { Node } from './tree.ts';

const STYLE = { breaks: false, padding: ' ' };

/** toml-eslint-parser finds the ranges. */
export const toml: Format = {
  parse: (text) => getStaticTOMLValue(parse(text)),
  source(text, path) {
    const entry = entryAt(entriesOf(parse(text)), keysOf(path));
    return entry && text.slice(...entry.node.value.range);
  },
  // JSON's strings, numbers and booleans are valid TOML.
  print: (value) => JSON.stringify(value),
  set(text, path, source) {
    const keys = keysOf(path);
    const ast = parse(text);
    const entries = entriesOf(ast);
    const entry = entryAt(entries, keys);
    if (entry) return replaced(text, entry.node.value.range, source);
    const parent = entries.findLast(
      ({ keys: prefix }) => prefix.length < keys.length && startsWith(keys, prefix),
    );
    if (parent) {
      const { value } = parent.node;
      if (value.type !== 'TOMLInlineTable')
        throw new SettingsConflict(`${parent.keys.join('.')} is not a table`);
      const item = `${keyText(keys.slice(parent.keys.length))} = ${source}`;
      return insertInFlow(text, flowOf(value), item, STYLE);
    }
    return insertLine(text, { ast, entries, keys }, source);
  },
  remove(text, path) {
    const keys = keysOf(path);
    const ast = parse(text);
    const entry = entryAt(entriesOf(ast), keys);
    if (entry?.inline)
      return removeFromFlow(text, flowOf(entry.inline), entry.inline.body.indexOf(entry.node));
    if (entry) return removeLine(text, entry.node.range);
    const table = tablesOf(ast).find((each) => isEqual(each.resolvedKey, keys));
    return table && table.body.length === 0 ? removeHeader(text, table) : text;
  },
};

interface Entry {
  /** The full path. */
  keys: readonly (string | number)[];
  node: AST.TOMLKeyValue;
  /** Path of the table that contains it. */
  table: readonly (string | number)[];
  inline?: AST.TOMLInlineTable;
}

/** Inserts a key into its table, after dotted keys of the same table, or in a new table at the end. */
function insertLine(
  text: string,
  where: { ast: AST.TOMLProgram; entries: readonly Entry[]; keys: readonly string[] },
  source: string,
): string {
  const { ast, entries, keys } = where;
  const parent = keys.slice(0, -1);
  const line = (from: number) => `${keyText(keys.slice(from))} = ${source}`;
  if (parent.length === 0) return insertRootKey(text, ast, line(0));
  const table = tablesOf(ast).find(
    ({ kind, resolvedKey }) => kind === 'standard' && isEqual(resolvedKey, parent),
  );
  if (table) return insertAfter(text, (table.body.at(-1) ?? table.key).range, line(parent.length));
  const dotted = entries.findLast(
    ({ keys: other, table: at, inline }) =>
      !inline &&
      at.length < parent.length &&
      startsWith(keys, at) &&
      other.length > at.length + 1 &&
      other[at.length] === keys[at.length],
  );
  if (dotted) return insertAfter(text, dotted.node.range, line(dotted.table.length));
  const eol = eolOf(text);
  const isEnded = text === '' || text.endsWith('\n');
  const gap = text.trim() === '' ? '' : isEnded ? eol : eol + eol;
  const end = isEnded ? eol : '';
  return `${text}${gap}[${keyText(parent)}]${eol}${line(parent.length)}${end}`;
}

/** Inserts a root key, before the first table. */
function insertRootKey(text: string, ast: AST.TOMLProgram, line: string): string {
  const nodes = ast.body[0].body;
  const last = nodes.findLast((node) => node.type === 'TOMLKeyValue');
  if (last) return insertAfter(text, last.range, line);
  const eol = eolOf(text);
  const header = /^(?:[ \t]*#[^\n]*\n)+(?=[ \t]*\r?\n)/.exec(text)?.[0] ?? (nodes.length === 0 ? text : '');
  const gap = header === '' || header.endsWith('\n') ? '' : eol;
  const after = nodes.length > 0 && header === '' ? eol + eol : eol;
  return header + gap + line + after + text.slice(header.length);
}

/** Removes a line. The first line is removed with the blank line that insertRootKey() adds after it. */
function removeLine(text: string, [start, end]: AST.Range): string {
  const edited = spliced(text, [lineRemoval(text, start, end)]);
  return lineStart(text, start) === 0 ? edited.replace(/^[ \t]*\r?\n/, '') : edited;
}

function insertAfter(text: string, [start, end]: AST.Range, line: string): string {
  const at = lineEnd(text, end);
  return spliced(text, [{ start: at, end: at, text: eolOf(text) + indentAt(text, start) + line }]);
}

/** Removes the header of an empty table and the blank line before it. */
function removeHeader(text: string, table: AST.TOMLTable): string {
  const removal = lineRemoval(text, table.key.range[0], table.key.range[1]);
  // At the end of a text without a final line ending, the blank line's own ending is removed.
  const isEnded = removal.end < text.length || text.endsWith('\n');
  const blank = (isEnded ? /(?:^|\n)([ \t]*\r?\n)$/ : /(\r?\n)$/).exec(text.slice(0, removal.start));
  return spliced(text, [{ ...removal, start: removal.start - (blank?.[1]?.length ?? 0) }]);
}

function replaced(text: string, [start, end]: AST.Range, source: string): string {
  return spliced(text, [{ start, end, text: source }]);
}

function flowOf({ range: [start, end], body }: AST.TOMLInlineTable): Node {
  const items = body.map(({ range, value }) => ({
    start: range[0],
    node: {
      start: value.range[0],
      end: value.range[1],
      value: undefined,
      kind: 'scalar' as const,
      isFlow: true,
      items: [],
    },
  }));
  return { start, end, value: undefined, kind: 'map', isFlow: true, items };
}

function entriesOf(ast: AST.TOMLProgram): Entry[] {
  return ast.body[0].body.flatMap((node): Entry[] => {
    if (node.type === 'TOMLKeyValue') return withInner(node, [], []);
    return node.body.flatMap((each) => withInner(each, node.resolvedKey, node.resolvedKey));
  });
}

function withInner(
  node: AST.TOMLKeyValue,
  prefix: readonly (string | number)[],
  table: readonly (string | number)[],
  inline?: AST.TOMLInlineTable,
): Entry[] {
  const keys = [...prefix, ...node.key.keys.map((key) => (key.type === 'TOMLBare' ? key.name : key.value))];
  const { value } = node;
  const inner =
    value.type === 'TOMLInlineTable' ? value.body.flatMap((each) => withInner(each, keys, table, value)) : [];
  return [{ keys, node, table, ...(inline ? { inline } : {}) }, ...inner];
}

function tablesOf(ast: AST.TOMLProgram): AST.TOMLTable[] {
  return ast.body[0].body.filter((node) => node.type === 'TOMLTable');
}

const entryAt = (entries: readonly Entry[], keys: readonly string[]) =>
  entries.find((entry) => isEqual(entry.keys, keys));

function isEqual(a: readonly (string | number)[], b: readonly (string | number)[]): boolean {
  return a.length === b.length && startsWith(a, b);
}

function startsWith(keys: readonly (string | number)[], prefix: readonly (string | number)[]): boolean {
  return prefix.every((key, i) => keys[i] === key);
}

function keyText(keys: readonly string[]): string {
  return keys.map((key) => (/^[\w-]+$/.test(key) ? key : JSON.stringify(key))).join('.');
}

function keysOf(path: Path): string[] {
  return path.map((step) => {
    if (typeof step === 'string') return step;
    throw new SettingsConflict(`${pathText(path)}: gw edits no lists in TOML`);
  });
}

function parse(text: string): AST.TOMLProgram {
  try {
    return parseTOML(text, { tomlVersion: 'latest' });
  } catch (error) {
    throw new SettingsSyntaxError(`not TOML: ${messageOf(error)} ${lineOf(error)}`.trim());
  }
}

function lineOf(error: unknown): string {
  const { lineNumber } = error as { lineNumber?: unknown };
  return typeof lineNumber === 'number' ? `in line ${lineNumber}` : '';
}
