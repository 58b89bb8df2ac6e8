import { type Format, type Path, SettingsSyntaxError, type SettingValue, type Step } from './change.ts';
import { insertInFlow, removeFromFlow } from './flow.ts';
import { eolOf, indentAt, indented, lineEnd, lineRemoval, lineStart, spliced } from './source-text.ts';
import { follow, type Node, sourceAt } from './tree.ts';
import { documentOf, rootOf } from './yaml-tree.ts';

const STYLE = { breaks: false, padding: '' };
const UNIT = '  ';

/** YAML of one document. The package `yaml` finds the ranges; its own writer would change spacing and line breaks. */
export const yaml: Format = {
  parse(text) {
    try {
      return documentOf(text)?.toJS();
    } catch (error) {
      throw error instanceof ReferenceError ? new SettingsSyntaxError(`not YAML: ${error.message}`) : error;
    }
  },
  source: (text, path) => sourceAt(text, rootOf(text), path),
  print: printed,
  set(text, path, source, isRaw = false) {
    const root = rootOf(text);
    if (root === undefined) return appended(text, wrapped(path, source));
    const { node, way, rest } = follow(root, path);
    const [step, ...inner] = rest;
    if (step === undefined) {
      const isInFlow = way.at(-1)?.container.isFlow === true;
      return replaced(text, node, isRaw ? source : isInFlow ? flowSource(source) : block(text, node, source));
    }
    if (node.kind === 'scalar') return filled(text, node, wrapped(rest, source));
    if (node.isFlow) return insertInFlow(text, node, flowItem(step, inner, source), STYLE);
    const item = itemOf(step, wrapped(inner, source), inner.length > 0);
    return typeof step === 'string' ? insertLast(text, node, item) : insertFirst(text, node, item);
  },
  remove(text, path) {
    const root = rootOf(text);
    const last = root && follow(root, path).way.at(-1);
    if (!last) return text;
    const { container, item } = last;
    if (container.isFlow) return removeFromFlow(text, container, container.items.indexOf(item));
    return spliced(text, [lineRemoval(text, item.start, item.node.end)]);
  },
};

function insertLast(text: string, { items, start }: Node, item: string): string {
  const last = items.at(-1);
  const at = lineEnd(text, last?.node.end ?? start);
  const indent = indentAt(text, last?.start ?? start);
  const eol = eolOf(text);
  return spliced(text, [{ start: at, end: at, text: eol + indent + indented(item, indent, eol) }]);
}

function insertFirst(text: string, { items, start }: Node, item: string): string {
  const at = items[0]?.start ?? start;
  const indent = indentAt(text, at);
  const eol = eolOf(text);
  return spliced(text, [{ start: at, end: at, text: indented(item, indent, eol) + eol + indent }]);
}

/** An empty value begins right after its colon. */
function replaced(text: string, { start, end }: Node, source: string): string {
  if (start === end) return spliced(text, [{ start, end, text: ` ${source}` }]);
  return spliced(text, [{ start: source === '' ? start - 1 : start, end, text: source }]);
}

/** Indents a source for the place of a value in a block. */
function block(text: string, { start }: Node, source: string): string {
  return indented(source, ' '.repeat(start - lineStart(text, start)), eolOf(text));
}

/** Puts a block into an empty value, as after `models:`. */
function filled(text: string, node: Node, source: string): string {
  const eol = eolOf(text);
  const indent = indentAt(text, node.start) + UNIT;
  if (node.start === node.end && text.slice(0, node.start).trimEnd() === '') return appended(text, source);
  // A comment may follow the key in its line.
  const at = lineEnd(text, node.end);
  return spliced(text, [
    { start: node.start, end: node.end, text: '' },
    { start: at, end: at, text: eol + indent + indented(source, indent, eol) },
  ]);
}

/** Appends a block to a text that has only comments. */
function appended(text: string, source: string): string {
  const eol = eolOf(text);
  const gap = text === '' || text.endsWith('\n') ? '' : eol;
  return text + gap + indented(source, '', eol) + eol;
}

/** The source of a value within the containers of a path, on lines of its own. */
function wrapped(path: Path, source: string): string {
  return path.reduceRight<string>((inner, step, i) => itemOf(step, inner, i < path.length - 1), source);
}

function itemOf(step: Step, source: string, isBlock: boolean): string {
  if (typeof step !== 'string') return `- ${indented(source, UNIT, '\n')}`;
  const key = scalarKey(step);
  return isBlock ? `${key}:\n${UNIT}${indented(source, UNIT, '\n')}` : `${key}: ${source}`;
}

function flowItem(step: Step, inner: Path, source: string): string {
  const value = inner.reduceRight<string>(
    (text, each) => (typeof each === 'string' ? `{${scalarKey(each)}: ${text}}` : `[${text}]`),
    flowSource(source),
  );
  return typeof step === 'string' ? `${scalarKey(step)}: ${value}` : value;
}

function flowSource(source: string): string {
  return source.includes('\n') ? JSON.stringify(documentOf(source)?.toJS()) : source;
}

function printed(value: SettingValue): string {
  if (typeof value !== 'object') return JSON.stringify(value);
  if (Array.isArray(value)) return value.map((each) => `- ${indented(printed(each), UNIT, '\n')}`).join('\n');
  return Object.entries(value)
    .map(([key, each]) => itemOf(key, printed(each), typeof each === 'object'))
    .join('\n');
}

function scalarKey(key: string): string {
  return /^[A-Za-z_][\w-]*$/.test(key) && !/^(?:true|false|null|yes|no|on|off|y|n)$/i.test(key)
    ? key
    : JSON.stringify(key);
}
