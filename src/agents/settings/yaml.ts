import {
  type Document,
  isAlias,
  isMap,
  isScalar,
  isSeq,
  LineCounter,
  type ParsedNode,
  parseAllDocuments,
  type YAMLMap,
  type YAMLSeq,
} from 'yaml';
import { type Format, type Path, SettingsSyntaxError, type SettingValue, type Step } from './change.ts';
import { insertInFlow, removeFromFlow } from './flow.ts';
import { eolOf, indentAt, indented, lineEnd, lineRemoval, lineStart, spliced } from './source-text.ts';
import { follow, type Item, type Node, sourceAt } from './tree.ts';

const STYLE = { breaks: false, padding: '' };
const UNIT = '  ';

/** YAML with a single document. `yaml` finds the ranges; its own writer would change spacing and line breaks. */
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

/** Replaces a value. An empty value begins right after the colon. */
function replaced(text: string, { start, end }: Node, source: string): string {
  if (start === end) return spliced(text, [{ start, end, text: ` ${source}` }]);
  return spliced(text, [{ start: source === '' ? start - 1 : start, end, text: source }]);
}

/** Indents a source text for the position of a value in a block. */
function block(text: string, { start }: Node, source: string): string {
  return indented(source, ' '.repeat(start - lineStart(text, start)), eolOf(text));
}

/** Inserts a block into an empty value, as after `models:`. */
function filled(text: string, node: Node, source: string): string {
  const eol = eolOf(text);
  const indent = indentAt(text, node.start) + UNIT;
  if (node.start === node.end && text.slice(0, node.start).trimEnd() === '') return appended(text, source);
  // A comment may follow the key on its line.
  const at = lineEnd(text, node.end);
  return spliced(text, [
    { start: node.start, end: node.end, text: '' },
    { start: at, end: at, text: eol + indent + indented(source, indent, eol) },
  ]);
}

/** Appends a block to a text without values. */
function appended(text: string, source: string): string {
  const eol = eolOf(text);
  const gap = text === '' || text.endsWith('\n') ? '' : eol;
  return text + gap + indented(source, '', eol) + eol;
}

/** Source text of a value inside the containers of a path, on separate lines. */
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

interface Source {
  text: string;
  document: Document.Parsed;
}

/** The only document of a text; undefined if the text is empty. */
function documentOf(text: string): Document.Parsed | undefined {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { keepSourceTokens: true, lineCounter, logLevel: 'silent' });
  if (!Array.isArray(documents) || documents.length === 0) return undefined;
  const [document, other] = documents;
  if (other) throw new SettingsSyntaxError('it has more than one YAML document');
  const error = document?.errors[0];
  if (error) throw new SettingsSyntaxError(`not YAML: ${error.code} in line ${error.linePos?.[0].line ?? 1}`);
  return document;
}

/** The root value; undefined if the text has only comments. */
function rootOf(text: string): Node | undefined {
  const document = documentOf(text);
  const contents = document?.contents;
  return document && contents && !isEmpty(contents) ? nodeOf(contents, { text, document }) : undefined;
}

function nodeOf(node: ParsedNode, source: Source): Node {
  if (isMap(node)) return collection(node, itemsOfMap(node as YAMLMap.Parsed, source), source);
  if (isSeq(node)) return collection(node, itemsOfList(node as YAMLSeq.Parsed, source), source);
  const { text, document } = source;
  const [start, end] = node.range;
  const value = isAlias(node) ? node.resolve(document)?.toJS(document) : node.toJS(document);
  const isBlock = isScalar(node) && (node.type === 'BLOCK_LITERAL' || node.type === 'BLOCK_FOLDED');
  const trimmed = isBlock ? start + text.slice(start, end).trimEnd().length : end;
  return { start, end: trimmed, value, kind: 'scalar', isFlow: false, items: [] };
}

/** A block collection ends with its last value; the range that `yaml` reports includes what follows. */
function collection(
  node: YAMLMap.Parsed | YAMLSeq.Parsed,
  items: readonly Item[],
  { document }: Source,
): Node {
  const [start, end] = node.range;
  return {
    start,
    end: node.flow ? end : (items.at(-1)?.node.end ?? end),
    value: node.toJS(document),
    kind: isMap(node) ? 'map' : 'list',
    isFlow: node.flow === true,
    items,
  };
}

function itemsOfMap(node: YAMLMap.Parsed, source: Source): Item[] {
  return node.items.map(({ key, value }) => ({
    ...(isScalar(key) ? { key: String(key.value) } : {}),
    start: key.range[0],
    node: value && !isEmpty(value) ? nodeOf(value, source) : emptyAfter(key.range[1], source),
  }));
}

/** Node of an empty value, right after the colon of its key. */
function emptyAfter(keyEnd: number, { text }: Source): Node {
  const at = text.indexOf(':', keyEnd) + 1;
  return { start: at, end: at, value: null, kind: 'scalar', isFlow: false, items: [] };
}

function itemsOfList(node: YAMLSeq.Parsed, source: Source): Item[] {
  const dashes = dashesOf(node.srcToken);
  return node.items.map((child, i) => {
    const inner = nodeOf(child, source);
    return { start: dashes[i] ?? inner.start, node: inner };
  });
}

const isEmpty = (node: unknown): boolean => isScalar(node) && node.value === null && node.source === '';

/** Positions of the dashes of a block list. */
function dashesOf(token: unknown): (number | undefined)[] {
  const { type, items = [] } = (token ?? {}) as {
    type?: string;
    items?: { start: { type: string; offset: number }[] }[];
  };
  if (type !== 'block-seq') return [];
  return items.map(({ start }) => start.find((each) => each.type === 'seq-item-ind')?.offset);
}
