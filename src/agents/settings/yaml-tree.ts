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
import { SettingsSyntaxError } from './change.ts';
import type { Item, Node } from './tree.ts';

/** A YAML text, parsed. */
interface Source {
  text: string;
  document: Document.Parsed;
}

/** The one document of a text; undefined for an empty one. */
export function documentOf(text: string): Document.Parsed | undefined {
  const lineCounter = new LineCounter();
  const documents = parseAllDocuments(text, { keepSourceTokens: true, lineCounter, logLevel: 'silent' });
  if (!Array.isArray(documents) || documents.length === 0) return undefined;
  const [document, other] = documents;
  if (other) throw new SettingsSyntaxError('it has more than one YAML document');
  const error = document?.errors[0];
  if (error) throw new SettingsSyntaxError(`not YAML: ${error.code} in line ${error.linePos?.[0].line ?? 1}`);
  return document;
}

/** The value of a text; undefined where it has only comments. */
export function rootOf(text: string): Node | undefined {
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

/** A block collection ends with its last value; the range of `yaml` includes what follows. */
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

/** An empty value, right after the colon of its key. */
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

function isEmpty(node: unknown): boolean {
  return isScalar(node) && node.value === null && node.source === '';
}

/** Where the dashes of a block list stand. */
function dashesOf(token: unknown): (number | undefined)[] {
  const { type, items = [] } = (token ?? {}) as {
    type?: string;
    items?: { start: { type: string; offset: number }[] }[];
  };
  if (type !== 'block-seq') return [];
  return items.map(({ start }) => start.find((each) => each.type === 'seq-item-ind')?.offset);
}
