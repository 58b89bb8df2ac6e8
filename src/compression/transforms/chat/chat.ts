import { estimateTokens } from '../../prompt/estimate.ts';
import { joinLines } from '../../prompt/lines.ts';
import type { Level, Scope } from '../scope.ts';
import { dropDates, hasTimes, isStamped, restoreDates } from './dates.ts';
import { type Dialogue, quoteSpeech, unquoteSpeech } from './quoted-speech.ts';

const MIN_LINES = 8;
const WORTH = 0.98;
const LEGEND = /^\[gw chat: .*\]$/;
const QUOTED_LEGEND = /"[^"]* said, "…", of (.{0,1000}?)(?:; |\]$)/;
const DATES = 'a date is left out where the one before holds';

/** A text around a chat, and the chat before and after shortening. */
export interface FramedChat {
  head: string;
  chat: string;
  written: string;
  tail: string;
}

/** Drops what every message of a pasted chat repeats: `said` and, at `balanced`, its date. */
export function shortenChat(text: string, { level }: Pick<Scope, 'level'>): string {
  const { head, written, tail } = frameChat(text, level) ?? { head: text, written: '', tail: '' };
  return head + written + tail;
}

/** Finds and shortens the chat in a text; undefined if there is none, or too little to gain. */
export function frameChat(text: string, level: Level): FramedChat | undefined {
  const hasSpeech = text.includes(' said, "');
  const hasDates = level !== 'safe' && hasTimes(text);
  const lines = hasSpeech || hasDates ? text.split('\n') : [];
  if (lines.length < MIN_LINES) return undefined;
  const dialogue = hasSpeech ? unquoteSpeech(lines) : undefined;
  const undatedLines = hasDates ? dropDates(dialogue?.lines ?? lines) : undefined;
  if (!dialogue && !undatedLines) return undefined;
  const out = undatedLines ?? dialogue?.lines ?? lines;
  const isMessage = (line: string, i: number) =>
    line !== lines[i] || (undatedLines !== undefined && isStamped(line));
  const first = out.findIndex(isMessage);
  const end = out.findLastIndex(isMessage) + 1;
  const legends = [...(dialogue ? [legendOf(dialogue)] : []), ...(undatedLines ? [DATES] : [])];
  const chat = joinLines(lines, first, end);
  const output = `[gw chat: ${legends.join('; ')}]\n${joinLines(out, first, end)}`;
  if (estimateTokens(output) > estimateTokens(chat) * WORTH) return undefined;
  const head = first === 0 ? '' : joinLines(lines, 0, first);
  return { head, chat, written: output, tail: joinLines(lines, end, lines.length) };
}

/** Undoes `shortenChat`. */
export function restoreChat(text: string): string {
  if (!text.includes('[gw chat: ')) return text;
  const lines = text.split('\n');
  const at = lines.findIndex((line) => LEGEND.test(line));
  const [legend = ''] = at < 0 ? [] : lines.splice(at, 1);
  const dated = legend.includes(DATES) ? restoreDates(lines) : lines;
  const speakers = QUOTED_LEGEND.exec(legend)?.[1]?.split(', ');
  return (speakers ? quoteSpeech({ speakers, lines: dated }) : dated).join('\n');
}

function legendOf({ speakers }: Dialogue): string {
  return `"Name: …" stands for Name said, "…", of ${speakers.join(', ')}`;
}
