/** Parsers of settings' values, which are text or JSON. Each throws SettingError. */
import { X509Certificate } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { totalmem } from 'node:os';
import { resolve } from 'node:path';
import { isTimezone } from '../calendar.ts';
import { messageOf } from '../errors.ts';
import { isLoopback } from '../loopback.ts';
import { type NanoUsd, parseUsd } from '../money.ts';
import { NO_PROXY_ADDRESS, NO_PROXY_AT_ALL, parseProxyAddress, withoutPassword } from '../proxy-address.ts';
import { jsonOf } from './json-of.ts';
import { listOf } from './list-of.ts';
import { SettingError } from './setting-error.ts';
import { type ModelTiers, parseShare, parseTiers } from './tiers.ts';
import type { Written } from './written.ts';

/** Whether to allow requests that gw refuses by default. */
export const PASS_RULES = ['refuse', 'allow'] as const;
export type PassRule = (typeof PASS_RULES)[number];

/** Who may call endpoints that gw doesn't know. */
export const UNLISTED_RULES = ['refuse', 'admin', 'allow'] as const;
export type UnlistedRule = (typeof UNLISTED_RULES)[number];

/** Service tier at OpenAI and Azure for requests under a budget that don't set one. */
export const SERVICE_TIER_RULES = ['default', 'account'] as const;
export type ServiceTierRule = (typeof SERVICE_TIER_RULES)[number];

/** Hosts that OpenRouter may choose for requests under a budget, by price. */
export const HOST_PRICE_RULES = ['listed', 'any'] as const;
export type HostPriceRule = (typeof HOST_PRICE_RULES)[number];

/** A share of requests, in [0,1]. */
export interface Share extends Written {
  share: number;
}

/** Fee of a server-side tool. */
export interface Fee extends Written {
  nanoUsd: NanoUsd;
}

export function whole(min: number, max: number): (value: unknown) => number {
  return (value) => {
    const number = typeof value === 'string' && value.trim() !== '' ? Number(value) : value;
    if (typeof number === 'number' && Number.isInteger(number) && number >= min && number <= max)
      return number;
    throw new SettingError(`${JSON.stringify(value)} is not a whole number from ${min} to ${max}`);
  };
}

export function oneOf<T extends string>(choices: readonly T[]): (value: unknown) => T {
  return (value) => {
    const match = choices.find((choice) => choice === value);
    if (match !== undefined) return match;
    throw new SettingError(`${JSON.stringify(value)} is not one of: ${choices.join(', ')}`);
  };
}

const SWITCHES = ['on', 'off'] as const;
export type Switch = (typeof SWITCHES)[number];

/** Parses `on` or `off`; also accepts true and false. */
export function onOrOff(value: unknown): Switch {
  if (value === true || value === 'true') return 'on';
  if (value === false || value === 'false') return 'off';
  return oneOf(SWITCHES)(value);
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
export interface ChannelNames extends Written {
  names: ReadonlySet<string>;
}

export function channelNames(value: unknown): ChannelNames {
  const names = listOf(value, 'names').map((name) => String(name).toLowerCase());
  const wrong = names.find((name) => !/^[\w.-]{1,100}(?:\[\])?$/.test(name));
  if (wrong === undefined) return { names: new Set(names), written: names.join(',') };
  throw new SettingError(`${JSON.stringify(wrong)} is no name of a header or query parameter`);
}

/** The absolute path of a file; empty for none. */
export function file(value: unknown): string {
  return value === '' ? '' : resolve(text(value));
}

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
export function ownProxyAddress(value: unknown): string {
  return proxyAddress(value === '' ? null : value);
}

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

export function dollars(value: unknown): Fee {
  const amount = typeof value === 'number' ? String(value) : value;
  const nanoUsd = typeof amount === 'string' ? parseUsd(amount) : undefined;
  if (typeof amount === 'string' && nanoUsd !== undefined) return { written: amount, nanoUsd };
  throw new SettingError(`${JSON.stringify(value)} is not an amount of dollars; an example is 0.01`);
}

export function tiers(value: unknown, model: string): ModelTiers & Written {
  const written = text(value);
  return { ...parseTiers(written, model), written };
}

export function share(value: unknown): Share {
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
