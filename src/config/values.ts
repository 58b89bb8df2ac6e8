/** Parsers of settings' values, which are text or JSON. Each throws SettingError. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import { isTimezone } from '../calendar.ts';
import { messageOf } from '../errors.ts';
import { jsonOf } from '../json/object.ts';
import { isLoopback } from '../loopback.ts';
import { type NanoUsd, parseUsd } from '../money.ts';
import { NO_PROXY_ADDRESS, NO_PROXY_AT_ALL, parseProxyAddress, withoutPassword } from '../proxy-address.ts';
import { SettingError } from './setting-error.ts';
import { type ModelTiers, parseShare, parseTiers } from './tiers.ts';
import type { Written } from './written.ts';

export function whole(min: number, max: number): (value: unknown) => number {
  return (value) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max)
      return number;
    throw new SettingError(`${JSON.stringify(value)} is not a whole number from ${min} to ${max}`);
  };
}

export function oneOf<const T extends string>(choices: readonly T[]): (value: unknown) => T {
  return (value) => {
    const match = choices.find((choice) => choice === value);
    if (match !== undefined) return match;
    throw new SettingError(`${JSON.stringify(value)} is not one of: ${choices.join(', ')}`);
  };
}

/** Parses `on` or `off`; also accepts true and false. */
export function onOrOff(value: unknown): 'on' | 'off' {
  if (value === true || value === 'true') return 'on';
  if (value === false || value === 'false') return 'off';
  return oneOf(['on', 'off'])(value);
}

/** Non-blank text. Refuses JSON, which is a mistake here. */
export function text(value: unknown): string {
  if (typeof value === 'string' && value.trim() !== '' && !isJson(value)) return value;
  throw new SettingError(`${JSON.stringify(value)} is not a text`);
}

/** Whether text is meant as JSON, valid or not. `[::1]` is not. */
function isJson(value: string): boolean {
  return /^\s*(?:[{"]|\[\s*(?:["[{\]]|$))/.test(value) || jsonOf(value) !== undefined;
}

/**
 * Model names of an alias: text such as "a, b" or "a | b", or a JSON array of names, which is stored as "a, b". A name
 * such as 42 must be written as the JSON text "42".
 */
export function modelNames(value: unknown): string {
  const names = typeof value === 'string' && isJson(value) ? jsonOf(value) : value;
  if (typeof names === 'string' && isWhole(names)) return names;
  const isList = Array.isArray(names) && names.length > 0;
  if (isList && names.every((name) => typeof name === 'string' && isWhole(name) && !/[\s,|]/.test(name)))
    return names.join(', ');
  throw new SettingError(
    `${JSON.stringify(value)} names no models; examples are a/b, "a/b, c/d" and '["a/b", "c/d"]'`,
  );
}

/** Whether a name is non-blank and not a fragment of a broken list. */
function isWhole(name: string): boolean {
  const opens = name.lastIndexOf('[');
  const isOpen = opens >= 0 && !name.includes(']', opens);
  const isClosed = !name.includes('[') && name.includes(']');
  return /[^\s,|]/.test(name) && !/["{}]/.test(name) && !isOpen && !isClosed;
}

/** Names of headers and query parameters, in lower case. */
export function channelNames(value: unknown): Written & { names: ReadonlySet<string> } {
  const names = listOf(value, 'names').map((name) => String(name).toLowerCase());
  const wrong = names.find((name) => !/^[\w.-]{1,100}(?:\[\])?$/.test(name));
  if (wrong === undefined) return { names: new Set(names), written: names.join(',') };
  throw new SettingError(`${JSON.stringify(wrong)} is no name of a header or query parameter`);
}

/** Percentages from 1 to 100, ascending. */
export function alertPercents(value: unknown): Written & { percents: readonly number[] } {
  const percents = listOf(typeof value === 'number' ? String(value) : value, 'percentages').map((percent) =>
    whole(1, 100)(String(percent).replace(/%$/, '')),
  );
  const sorted = [...new Set(percents)].sort((a, b) => a - b);
  return { percents: sorted, written: sorted.join(',') };
}

/** The absolute path of a file; empty for none. */
export const file = (value: unknown): string => (value === '' ? '' : resolve(text(value)));

/** The absolute path of a file with certificates; empty for none. Reads the file to validate it. */
export function authorities(value: unknown): string {
  const path = file(value);
  if (path === '') return '';
  try {
    new X509Certificate(readFileSync(path));
    return path;
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    const why = code === 'ENOENT' ? 'there is no such file' : messageOf(error);
    throw new SettingError(`${path} has no certificate in PEM: ${why}`);
  }
}

/** The address of an http(s) proxy, or `none`; empty for the environment's proxy. The error hides passwords. */
export function proxyAddress(value: unknown): string {
  if (value === '' || value === NO_PROXY_AT_ALL) return value;
  if (typeof value === 'string' && parseProxyAddress(value)) return value;
  const shown = JSON.stringify(typeof value === 'string' ? withoutPassword(value) : value);
  throw new SettingError(`${shown} is ${NO_PROXY_ADDRESS}`);
}

/** Like `proxyAddress`, for one provider: must name a proxy or be `none`. */
export const ownProxyAddress = (value: unknown): string => proxyAddress(value === '' ? null : value);

/** An address that can't be intercepted: https, or this machine. */
export function webAddress(value: unknown): string {
  const written = text(value);
  const url = URL.canParse(written) ? new URL(written) : undefined;
  if (url && (url.protocol === 'https:' || (url.protocol === 'http:' && isLoopback(url.hostname))))
    return url.href;
  throw new SettingError(`${JSON.stringify(value)} is not an https:// address`);
}

export function timezone(value: unknown): string {
  if (typeof value === 'string' && isTimezone(value)) return value;
  throw new SettingError(`${JSON.stringify(value)} is not a time zone; an example is Europe/Paris`);
}

export function dollars(value: unknown): Written & { nanoUsd: NanoUsd } {
  const amount = typeof value === 'number' ? String(value) : value;
  const nanoUsd = typeof amount === 'string' ? parseUsd(amount) : undefined;
  if (typeof amount === 'string' && nanoUsd !== undefined) return { written: amount, nanoUsd };
  throw new SettingError(`${JSON.stringify(value)} is not an amount of dollars; an example is 0.01`);
}

export function tiers(value: unknown, model: string): ModelTiers & Written {
  const written = text(value);
  return { ...parseTiers(written, model), written };
}

/** A share of requests, in [0,1]. */
export function share(value: unknown): Written & { share: number } {
  return { written: String(value), share: parseShare(value) };
}

/** The http(s) address of a collector; empty for none. */
export function collectorAddress(value: unknown): string {
  if (value === '') return '';
  const url = typeof value === 'string' && URL.canParse(value) ? new URL(value) : undefined;
  if (url && /^https?:$/.test(url.protocol) && !url.search && !url.hash && !url.username && !url.password)
    return url.href;
  throw new SettingError(`${JSON.stringify(value)} is not an address; an example is http://localhost:4318`);
}

/** A quarter of this process's memory limit, but at least enough for three of the largest bodies. */
export function quarterOfMemory(): number {
  const allowed = process.constrainedMemory();
  const bytes = allowed > 0 ? Math.min(allowed, totalmem()) : totalmem();
  return Math.max(512 * 1024 ** 2, Math.floor(bytes / 4));
}

export const OPTIMIZER_LEVELS = ['off', 'safe', 'balanced'] as const;
export type OptimizerLevel = (typeof OPTIMIZER_LEVELS)[number];

/** Letters, digits, `-` and `_` between dots. No port, and no wildcard, which would admit pages of any site. */
const HOST_NAME = /^[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?(\.[a-z0-9_]([a-z0-9_-]*[a-z0-9_])?)*$/;

/** Host names; `written` is `a.example.com,b.example.com`. */
export function parseHostNames(value: unknown): Written & { names: readonly string[] } {
  const names = listOf(value, 'host names').map(parseName);
  return { names, written: names.join(',') };
}

function parseName(part: unknown): string {
  const name = typeof part === 'string' ? part.toLowerCase() : '';
  if (HOST_NAME.test(name)) return name;
  throw new SettingError(`${JSON.stringify(part)} is not a host name; an example is gw.example.com`);
}

/** A scheme and a host with an optional port. No wildcard, path or user, and not the word `null`. */
const ORIGIN = /^[a-z][a-z0-9+.-]*:\/\/(?:\[[0-9a-f:.]+\]|[a-z0-9_-][a-z0-9._-]*)(?::\d{1,5})?$/;

/** Origins as browsers send them; `written` is `http://localhost:3000,app://obsidian.md`. */
export function parseOrigins(value: unknown): Written & { origins: readonly string[] } {
  const origins = listOf(value, 'origins').map(parseOrigin);
  return { origins, written: origins.join(',') };
}

/**
 * Whether a text is an origin as browsers send it, without a default port:
 * https://developer.mozilla.org/docs/Web/HTTP/Reference/Headers/Origin
 */
export function isExactOrigin(text: string): boolean {
  if (!ORIGIN.test(text) || !URL.canParse(text)) return false;
  return !/^https?:/.test(text) || new URL(text).origin === text;
}

function parseOrigin(part: unknown): string {
  if (typeof part === 'string' && isExactOrigin(part)) return part;
  throw new SettingError(
    `${JSON.stringify(part)} is not an exact origin: a scheme and a host, such as http://localhost:3000 or app://obsidian.md, without a path`,
  );
}

/** How long records are kept; `written` is `90d` or `forever`. */
export interface Retention extends Written {
  /** Undefined: forever. */
  ms: number | undefined;
}

const DAY_MS = 86_400_000;

/** Parses whole days such as `90d`, or `forever` or its synonym `off`. */
export function parseRetention(value: unknown): Retention {
  if (value === 'forever' || value === 'off') return { written: 'forever', ms: undefined };
  const days = typeof value === 'string' ? Number(/^(\d{1,4})d$/.exec(value)?.[1]) : Number.NaN;
  if (days >= 1) return { written: `${days}d`, ms: days * DAY_MS };
  throw new SettingError(`${JSON.stringify(value)} is neither a number of days, such as 90d, nor forever`);
}

const LIFETIME_UNITS: Readonly<Record<string, number>> = { s: 1_000, m: 60_000, h: 3_600_000, d: DAY_MS };
const MAX_LIFETIME_MS = 365 * DAY_MS;

/** How long an answer may be replayed: a time such as `24h`, or `off`, which is 0. */
export function lifetime(value: unknown): Written & { ms: number } {
  if (value === 'off' || value === '0') return { written: 'off', ms: 0 };
  const [, number = '', unit = ''] = /^(\d{1,6})([smhd])$/.exec(String(value)) ?? [];
  const ms = Number(number) * (LIFETIME_UNITS[unit] ?? 0);
  if (ms > 0 && ms <= MAX_LIFETIME_MS) return { written: `${number}${unit}`, ms };
  throw new SettingError(
    `${JSON.stringify(value)} is neither a time up to 365d, such as 24h or 30m, nor off`,
  );
}

/** Elements of a list: an array, JSON text of an array, or words separated by commas or spaces. */
export function listOf(value: unknown, what: string): unknown[] {
  const list = typeof value === 'string' && value.trim().startsWith('[') ? jsonOf(value) : value;
  const parts = typeof list === 'string' ? list.split(/[\s,]+/) : list;
  if (Array.isArray(parts)) return parts.filter((part) => part !== '');
  throw new SettingError(`${JSON.stringify(value)} is not a list of ${what}`);
}
