import { existsSync, mkdirSync, readFileSync, writeFileSync } from 'node:fs';
import { join, resolve } from 'node:path';
import { expect } from 'vitest';
import { VERSION } from '../../src/version.ts';

const FOLDER = join(import.meta.dirname, 'golden');
const IS_WRITING = process.env.GW_FREEZE === '1';
const HEAD = '=== ';
const WIDTH = 140;

/** Puts placeholders where outputs differ from run to run and from machine to machine. */
export function normalise(text: string, home: string): string {
  // The end of a key that was just made is shown apart from it.
  const hints = Array.from(text.matchAll(/sk-gw-[\w-]{39}([\w-]{4})/g), ([, hint]) => `"hint": "${hint}"`);
  return (
    hints
      .reduce((rest, hint) => rest.replaceAll(hint, '"hint": "<hint>"'), text)
      .replace(/sk-gw-[\w-]{43}/g, 'sk-gw-<key>')
      .replace(/whsec_[\w+/]{43}=/g, 'whsec_<secret>')
      .replace(/evt_[0-9a-f]{32}/g, 'evt_<id>')
      .replaceAll(home, '<home>')
      .replaceAll(resolve(import.meta.dirname, '../..'), '<repo>')
      .replaceAll(VERSION, '<version>')
      .replace(/((?:127\.0\.0\.1|localhost):)\d{4,5}\b/g, '$1<port>')
      .replace(/("(?:pid|port|bytes)": ?)\d+/g, (_, name) => `${name}0`)
      // A longer one leaves less space for what is at the right edge.
      .replace(/\bpid \d+(,? +up \w+)? */g, 'pid <pid>$1 ')
  );
}

/** The answers of an area, which are written to its golden file with GW_FREEZE=1 and compared with it otherwise. */
export function goldenFile(area: string) {
  const path = join(FOLDER, `${area}.txt`);
  const answers = new Map<string, string>();
  return {
    add(title: string, answer: string): void {
      if (answers.has(title)) throw new Error(`${title} is there twice`);
      answers.set(title, answer.trimEnd());
    },
    /** Fails with a diff of each answer that differs. */
    check(): void {
      if (IS_WRITING) {
        mkdirSync(FOLDER, { recursive: true });
        writeFileSync(path, [...answers].map(([title, answer]) => `${HEAD}${title}\n${answer}\n`).join('\n'));
      }
      const golden = existsSync(path) ? parse(readFileSync(path, 'utf8')) : new Map<string, string>();
      expect.soft([...answers.keys()], `the answers in ${area}`).toEqual([...golden.keys()]);
      for (const [title, answer] of answers)
        if (golden.has(title)) expect.soft(answer, title).toBe(golden.get(title));
    },
  };
}

function parse(text: string): Map<string, string> {
  const sections = `\n${text}`.split(`\n${HEAD}`).slice(1);
  return new Map(
    sections.map((section) => {
      const end = section.indexOf('\n');
      return [section.slice(0, end), section.slice(end + 1).trimEnd()];
    }),
  );
}

/** The lines of `text` that are not in `other`, and those that it lacks. */
export function difference(text: string, other: string): string {
  if (text === other) return 'the same';
  const [lines, others] = [text.split('\n'), other.split('\n')];
  const removed = others.filter((line) => !lines.includes(line)).map((line) => `- ${line}`);
  const added = lines.filter((line) => !others.includes(line)).map((line) => `+ ${line}`);
  return removed.length + added.length > 0 ? [...removed, ...added].join('\n') : text;
}

/**
 * A JSON text in lines, for a readable diff, with a reference for what was there before. Only a text that its value gives
 * back with this indentation; any other is returned as it is.
 */
export function laidOut(text: string, indentation?: number): string {
  try {
    const value: unknown = JSON.parse(text);
    if (JSON.stringify(value, undefined, indentation) === text.trimEnd()) return linesOf(value, new Map());
  } catch {}
  return text;
}

function linesOf(value: unknown, seen: Map<string, string>, path = '', indent = ''): string {
  const flat = JSON.stringify(value);
  if (flat.length + indent.length <= WIDTH) return flat;
  const before = seen.get(flat);
  if (before !== undefined) return `<as ${before}>`;
  seen.set(flat, path);
  if (typeof value !== 'object' || value === null) return flat;
  const isArray = Array.isArray(value);
  const lines = Object.entries(value).map(
    ([name, each]) =>
      `${indent} ${isArray ? '' : `${JSON.stringify(name)}: `}${linesOf(each, seen, `${path}/${name}`, `${indent} `)}`,
  );
  return `${isArray ? '[' : '{'}\n${packed(lines).join(',\n')}\n${indent}${isArray ? ']' : '}'}`;
}

/** Short members share lines. */
function packed(members: string[]): string[] {
  const lines: string[] = [];
  for (const member of members) {
    const last = lines.at(-1);
    const line = `${last},${member.trimStart()}`;
    if (last === undefined || line.includes('\n') || line.length > WIDTH) lines.push(member);
    else lines[lines.length - 1] = line;
  }
  return lines;
}
