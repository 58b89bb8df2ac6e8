import { type Json, JsonArray, JsonObject, writeJson } from '../../json/read.ts';
import { namesKey, needsOthers, type Question, wordsOf } from '../../prompt/question.ts';
import { chooseCandidates } from '../documents/select.ts';

/** A JSON value without its omissions, and what they are, for the mark. */
export interface Selection {
  value: Json;
  omissions: string[];
}

const MIN_ROWS = 8;
/** If more than this share of the rows match, the question is not about single rows. */
const MAX_SHARE = 0.25;
const SAMPLES = 1;
/** Rows with at least this mean length are documents, which are ranked. */
const DOCUMENT_LENGTH = 250;
const MIN_LINKS = 6;
const LINK = /^"(?:https?|git|ssh):\/\/|^"git@/;

/** Drops what a look-up does not need: rows that it does not name, links that it does not ask for. */
export function selectJson(root: Json, question: Question | undefined): Selection {
  const selector = new Selector(question);
  const value = selector.select(root);
  return { value, omissions: selector.omissions };
}

class Selector {
  readonly omissions: string[] = [];
  readonly #question: Question | undefined;
  readonly #needles: string[];
  readonly #linksWanted: boolean;

  constructor(question: Question | undefined) {
    this.#question = question;
    this.#needles = question && !needsOthers(question) ? [...question.exact] : [];
    this.#linksWanted = /\b(?:urls?|links?|href|endpoints?|address of the page)\b/i.test(
      question?.text ?? '',
    );
  }

  select(value: Json): Json {
    if (typeof value === 'string') return value;
    if (value instanceof JsonArray) return this.#selectRows(value);
    return this.#selectEntries(value);
  }

  #selectRows(list: JsonArray): Json {
    const rows = list.items.map((item) => writeJson(item));
    const few = list.items.length < MIN_ROWS;
    const kept = few ? undefined : areDocuments(list, rows) ? this.#ranked(list, rows) : this.#named(rows);
    if (kept) this.omissions.push(`${list.items.length - kept.size} of ${list.items.length} rows`);
    const out = new JsonArray();
    list.items.forEach((item, i) => {
      if (!kept || kept.has(i)) out.items.push(this.select(item));
    });
    return out;
  }

  #selectEntries(object: JsonObject): Json {
    const entries = object.keys.map((key, i) => `${key}:${writeJson(object.values[i] ?? 'null')}`);
    const isMap =
      entries.length >= MIN_ROWS && object.keys.filter((key) => /\d/.test(key)).length * 2 > entries.length;
    const kept = isMap ? this.#named(entries) : undefined;
    if (kept) this.omissions.push(`${entries.length - kept.size} of ${entries.length} entries`);
    const links = kept ? undefined : this.#links(object);
    if (links) this.omissions.push(`${links.size} links`);
    const out = new JsonObject();
    object.keys.forEach((key, i) => {
      if ((kept && !kept.has(i)) || links?.has(i)) return;
      out.keys.push(key);
      out.values.push(this.select(object.values[i] ?? 'null'));
    });
    return out;
  }

  /** The rows that contain what the question names, if they are few, plus the first row as a sample. */
  #named(rows: readonly string[]): Set<number> | undefined {
    if (!this.#question || needsOthers(this.#question)) return undefined;
    const lower = rows.map((row) => row.toLowerCase());
    const matches = new Set<number>();
    for (const needle of [...this.#needles, ...phrasesIn(this.#question.text, lower)]) {
      const holders = lower.flatMap((row, i) => (row.includes(needle) ? [i] : []));
      if (holders.length > 0 && holders.length <= Math.max(2, rows.length * MAX_SHARE))
        for (const i of holders) matches.add(i);
    }
    if (matches.size === 0 || matches.size > rows.length * 0.5) return undefined;
    for (let i = 0; i < SAMPLES; i++) matches.add(i);
    return matches;
  }

  #ranked(list: JsonArray, rows: readonly string[]): ReadonlySet<number> | undefined {
    if (!this.#question) return undefined;
    const candidates = list.items.map((item, i) => ({ title: titleOf(item), text: rows[i] ?? '' }));
    return chooseCandidates(this.#question.text, candidates)?.kept;
  }

  #links(object: JsonObject): Set<number> | undefined {
    if (!this.#question) return undefined;
    const links = new Set<number>();
    let isNamed = false;
    object.keys.forEach((key, i) => {
      const value = object.values[i];
      if (typeof value !== 'string' || !LINK.test(value)) return;
      if (namesKey(this.#question, key)) isNamed = true;
      else links.add(i);
    });
    return links.size < MIN_LINKS || (this.#linksWanted && !isNamed) ? undefined : links;
  }
}

function areDocuments(list: JsonArray, rows: readonly string[]): boolean {
  const length = rows.reduce((sum, row) => sum + row.length, 0);
  return length >= DOCUMENT_LENGTH * rows.length && list.items.every(hasLongText);
}

function hasLongText(item: Json): boolean {
  return (
    item instanceof JsonObject &&
    item.values.some((value) => typeof value === 'string' && value.length > 120 && value.includes(' '))
  );
}

function titleOf(item: Json): string {
  if (!(item instanceof JsonObject)) return '';
  const at = item.keys.findIndex((key) => /^"(?:title|name|heading|source)"$/i.test(key));
  const value = item.values[at];
  return typeof value === 'string' ? value.slice(1, -1) : '';
}

/** The longest phrases of two or more words of the question that a row contains: names without quotes. */
function phrasesIn(question: string, rows: readonly string[]): string[] {
  const words = wordsOf(question).slice(0, 80);
  const all = rows.join('\n');
  const phrases: string[] = [];
  for (let from = 0; from + 1 < words.length; from++) {
    let end = from + 1;
    while (end < words.length && all.includes(words.slice(from, end + 1).join(' '))) end++;
    if (end - from < 2) continue;
    const phrase = words.slice(from, end).join(' ');
    if (phrase.length > 6) phrases.push(phrase);
    from = end - 1;
  }
  return phrases;
}
