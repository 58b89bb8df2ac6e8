/** A list of numbered or tagged documents in a text, as retrieval adds them to prompts. */
export interface DocumentList {
  /** The text before the first document, and after the last. */
  head: string;
  tail: string;
  documents: Document[];
}

interface Document {
  /** The whole document, with its heading and the separator after it. */
  text: string;
  title: string;
}

const MIN_DOCUMENTS = 4;
/** Lists with a shorter mean entry are not documents. */
const MIN_MEAN_LENGTH = 150;
const TAGS = 'document|doc|passage|result|source|chunk|article|snippet|context|search_result';
const OPEN = new RegExp(`^[ \\t]*<(${TAGS})(?:\\s[^<>\\n]{0,300})?>`, 'gm');
/** Excludes article, section and item: in contracts and specifications every one of them counts. */
const NAMES = 'document|doc|passage|source|chunk|result|context|snippet|search result|evidence|excerpt';
const NUMBERED = new RegExp(
  `^(?:#{1,4} |\\*\\*)?(?:(?:${NAMES})[ #:]{0,2}[\\[(]?(\\d{1,4})[\\])]?|\\[(\\d{1,4})\\](?=[ \\t(:]))`,
  'gim',
);

const TITLED = /^(?:wikipedia )?(?:title|source|document|passage)(?: title)?: (?=\S)/gim;

/** Finds the documents of a text; undefined if it has none. */
export function findDocuments(text: string): DocumentList | undefined {
  const list = findTagged(text) ?? findNumbered(text) ?? findTitled(text);
  if (!list || list.documents.length < MIN_DOCUMENTS) return undefined;
  const length = list.documents.reduce((sum, document) => sum + document.text.length, 0);
  return length < MIN_MEAN_LENGTH * list.documents.length ? undefined : list;
}

/** Finds documents in tags such as `<document>`. */
export function findTagged(text: string): DocumentList | undefined {
  const starts: number[] = [];
  let name: string | undefined;
  let end = 0;
  for (const match of text.matchAll(OPEN)) {
    // The first name of a closed tag is the document; tags inside it are skipped.
    if (match.index < end || (name !== undefined && match[1] !== name)) continue;
    const close = closeOf(text, match.index, match[1] ?? '');
    if (close === 'none') return undefined;
    if (close === 'inner') continue;
    name = match[1];
    end = close;
    starts.push(match.index);
  }
  const [first] = starts;
  if (first === undefined) return undefined;
  if (text[end] === '\n') end++;
  return cut(text, starts, end, titleOfTagged);
}

/** The end of a document; `inner` if another one starts inside it (`<document_content>` is a different tag). */
function closeOf(text: string, start: number, name: string): number | 'inner' | 'none' {
  const next = new RegExp(`<${name}[\\s>]`, 'g');
  next.lastIndex = start + 1;
  const inner = next.exec(text)?.index;
  const close = text.slice(start, inner).indexOf(`</${name}>`);
  if (close >= 0) return start + close + `</${name}>`.length;
  return inner === undefined ? 'none' : 'inner';
}

/** Finds documents that start with a line such as `Title: ...` after a blank line. */
function findTitled(text: string): DocumentList | undefined {
  const starts: number[] = [];
  for (const { index } of text.matchAll(TITLED)) {
    if (index === 0 || /\n[ \t]*\n$/.test(text.slice(Math.max(0, index - 8), index))) starts.push(index);
  }
  return starts.length < MIN_DOCUMENTS ? undefined : cutOpen(text, starts);
}

function findNumbered(text: string): DocumentList | undefined {
  const starts: number[] = [];
  let next: number | undefined;
  for (const match of text.matchAll(NUMBERED)) {
    const number = Number(match[1] ?? match[2]);
    if (next === undefined ? number > 1 : number !== next) continue;
    starts.push(match.index);
    next = number + 1;
  }
  return starts.length < MIN_DOCUMENTS ? undefined : cutOpen(text, starts);
}

/** Cuts documents without closing tags. The last one ends at a blank line, unless the others contain blank lines. */
function cutOpen(text: string, starts: readonly number[]): DocumentList {
  const last = starts.at(-1) ?? 0;
  const others = text.slice(starts[0], last).trimEnd();
  const blanks = [...others.matchAll(/\n\s*\n/g)].length;
  if (blanks > starts.length * 2) return cut(text, starts.slice(0, -1), last, titleOfOpen);
  const blank = text.slice(last).search(/\n[ \t]*\n/);
  return cut(text, starts, blank < 0 ? text.length : last + blank + 1, titleOfOpen);
}

function cut(
  text: string,
  starts: readonly number[],
  end: number,
  titleOf: (text: string) => string,
): DocumentList {
  const documents = starts.map((start, i) => {
    const own = text.slice(start, starts[i + 1] ?? end);
    return { text: own, title: titleOf(own) };
  });
  return { head: text.slice(0, starts[0]), tail: text.slice(end), documents };
}

function titleOfTagged(text: string): string {
  const match =
    /<(?:title|source|name)>([^<\n]{1,200})</.exec(text) ??
    /(?:title|source|name)="([^"\n]{1,200})"/.exec(text);
  return match?.[1]?.trim() ?? '';
}

function titleOfOpen(text: string): string {
  const line = text.slice(0, text.indexOf('\n') < 0 ? 300 : text.indexOf('\n')).slice(0, 300);
  const match = /\(title: ([^)\n]{0,300})\)/i.exec(line);
  if (match) return match[1]?.trim() ?? '';
  const rest = line
    .replace(TITLED, '')
    .replace(/^[#*\s]{0,20}(?:[a-z][a-z ]{0,60})?[\s#:]{0,20}[[(]?\d+[\])]?[\s:.*-]*/i, '');
  // A heading has its own line; a long line is the text itself.
  return rest.length <= 100 ? rest.trim() : '';
}
