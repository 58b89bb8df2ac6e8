import { estimateTokens } from '../../prompt/estimate.ts';
import { findTagged } from './documents.ts';

/** The tags of fewer documents cost less than the legend. */
const MIN_DOCUMENTS = 4;
const WORTH = 0.95;
/** Tags before the text of a document, with short elements such as its title. */
const HEADER = /^(?:[ \t]*<[A-Za-z][^<>\n]{0,300}>(?:[^<>\n]{0,300}<\/[A-Za-z][\w-]*>)?\n?)+/;
const CLOSING = /^<\/[A-Za-z][\w-]*>\s*$/;
/** The variable parts of a header: attribute values and element texts. */
const VALUE = /(?<==")[^"<>\n]*(?=")|(?<=>)[^<>\n]+(?=<\/)/g;
const NAMES = 'abcdefghij';
const BETWEEN = ' | ';
const LEGEND = /^(?=.*\]$)\[gw documents: "§ [a-j |]+" stands for (<.*>(?:\\n)*) up to (.*)\]$/;

interface Parts {
  header: string;
  values: readonly string[];
  content: string;
  trailer: string;
}

/** Writes the tags that all documents of a text share once, and for each document its values and its text. */
export function frameDocuments(text: string) {
  const list = findTagged(text);
  if (!list || list.documents.length < MIN_DOCUMENTS) return undefined;
  const parts = list.documents.map((document) => split(document.text));
  const [first] = parts;
  if (!first || first.values.length === 0 || first.values.length > NAMES.length) return undefined;
  const body = parts.map(({ values, content }) => `§ ${values.join(BETWEEN)}\n${content}`);
  const framed = `${legendOf(first)}\n${body.join('\n')}`;
  const all = list.documents.map((document) => document.text).join('');
  // The newline after the last document is not part of it.
  const documents = all.endsWith('\n') ? all.slice(0, -1) : all;
  const restored = unframeDocuments(framed);
  if (restored !== documents && restored !== `${documents}\n`) return undefined;
  if (estimateTokens(framed) > estimateTokens(documents) * WORTH) return undefined;
  return { head: list.head, documents, framed, tail: text.slice(list.head.length + documents.length) };
}

/** Undoes `frameDocuments`; undefined for any other text. */
export function unframeDocuments(framed: string): string | undefined {
  const end = framed.indexOf('\n');
  const [, header, trailer] = (LEGEND.exec(framed.slice(0, end)) ?? []).map(spell);
  if (header === undefined || trailer === undefined) return undefined;
  const documents = framed.slice(end).split('\n§ ').slice(1);
  return documents
    .map((document) => {
      const line = document.indexOf('\n');
      const values = document.slice(0, line).split(BETWEEN);
      return header.replace(VALUE, () => values.shift() ?? '') + document.slice(line + 1) + trailer;
    })
    .join('');
}

function split(document: string): Parts {
  const header = HEADER.exec(document)?.[0] ?? '';
  const end = startOfClosing(document, header.length);
  return {
    header,
    values: header.match(VALUE) ?? [],
    content: document.slice(header.length, end),
    trailer: document.slice(end),
  };
}

/** Where the closing tags at the end of a document start, with the newline before each. */
function startOfClosing(document: string, from: number): number {
  let end = document.length;
  for (;;) {
    const open = document.lastIndexOf('</', end - 1);
    if (open < from || !CLOSING.test(document.slice(open, end))) return end;
    end = document[open - 1] === '\n' ? open - 1 : open;
  }
}

function legendOf({ header, values, trailer }: Parts): string {
  const names = [...NAMES.slice(0, values.length)];
  const left = [...names];
  const pattern = header.replace(VALUE, () => left.shift() ?? '');
  const sample = `"§ ${names.join(BETWEEN)}"`;
  return `[gw documents: ${sample} stands for ${inLine(pattern)} up to ${inLine(trailer)}]`;
}

const inLine = (text: string): string => text.replaceAll('\n', '\\n');

const spell = (text: string): string => text.replaceAll('\\n', '\n');
