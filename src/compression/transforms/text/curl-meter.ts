import type { Question } from '../../prompt/question.ts';

/** The head of the table that curl paints while it waits, which no one sees who is not at a terminal. */
const HEAD =
  /^ *% Total +% Received +% Xferd +Average Speed +Time +Time +Time +Current\r?\n +Dload +Upload +Total +Spent +Left +Speed\r?\n/;
/** A painting of its numbers: a share and a size thrice, two speeds, three times, a speed; one paints over the other. */
const ROW =
  /^[\r\n]*((?: *\d+ +\d\S* ){3}) *\d\S* +\d\S* +(?:[\d:dh]+|--:--:--) +(?:[\d:dh]+|--:--:--) +(?:[\d:dh]+|--:--:--) +\d[\d.]*[kMGTP]?(?=[\r\n]|$)/;
const DONE = /^ *100 +\S+ +\S+ +(\d\S*) /;
const ASKS_HOW_FAST =
  /\b(?:how (?:fast|long|slow)|slow(?:er|ly|ness)?|faster|latency|bandwidth|throughput|progress|transfer rate|(?:download|upload|transfer) (?:speed|time|rate))\b/i;

/** A text that starts with the meter of a download, and what to say of that. */
export interface Metered {
  mark: string;
  /** The lines that the mark stands for. */
  printed: string;
  body: string;
}

/**
 * The meter that curl paints around what it fetches: of a download that came whole, only its size may matter later.
 * Undefined where there is none at the start of the text, or where it is what was asked about.
 */
export function splitMeter(text: string, question: Question | undefined): Metered | undefined {
  const head = HEAD.exec(text)?.[0];
  if (head === undefined || (question && ASKS_HOW_FAST.test(question.text))) return undefined;
  let rest = text.slice(head.length);
  let last = '';
  for (let row = ROW.exec(rest); row; row = ROW.exec(rest)) {
    last = row[1] ?? '';
    rest = rest.slice(row[0].length);
  }
  const size = DONE.exec(last)?.[1];
  // What broke off, or is nothing but the meter, is told by its numbers.
  const body = rest.replace(/^\r?\n/, '');
  if (size === undefined || body === rest || body.trim() === '') return undefined;
  const printed = text.slice(0, text.length - body.length);
  return { mark: `[gw: curl received ${size} bytes]\n`, printed, body };
}
