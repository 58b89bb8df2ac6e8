import { createHash } from 'node:crypto';
import { readdir, rm, rmdir, stat, utimes } from 'node:fs/promises';
import { join } from 'node:path';
import { messageOf, orElse } from '../../errors.ts';
import type { RequestId } from '../../ids.ts';
import type { NanoUsd } from '../../money.ts';
import { checkSpace, hasFolder, makeFolder, readNoLink, replaceFile, TEMPORARY } from './private-folder.ts';

/** An answer that is kept to be replayed. */
export interface KeptAnswer {
  /** The request that it answered first. */
  id: RequestId;
  provider: string;
  model: string;
  /** When it was kept, and until when; UTC milliseconds. */
  at: number;
  until: number;
  costNanoUsd: NanoUsd;
  /** As the client got them, flat; without gw's own and those of the moment. */
  headers: string[];
  body: Buffer;
}

interface Head extends Omit<KeptAnswer, 'body'> {
  /** SHA-256 of the body: a file may be broken after a power failure. */
  digest: string;
}

const MB = 1024 ** 2;
/** Disks store files in blocks, so that a small one takes this much. */
const BLOCK_BYTES = 4096;
const SCAN_EVERY_MS = 3_600_000;
/** Answers that wait to be written may take this much memory. */
const MAX_WAITING_BYTES = 64 * MB;
/** Once the folder is full, so much of it is emptied that not every write has to look through it again. */
const KEPT_SHARE = 0.9;

const SUFFIX = '.answer';
const NAME = /^(\d+)-[0-9a-f]{64}\.answer(\.new)?$/;
const nameOf = (projectId: number, key: string) => `${projectId}-${key}${SUFFIX}`;

interface KeptAnswersOptions {
  folder: string;
  now: () => number;
  maxMb: () => number;
  warn: (message: string) => void;
}

/** Keeps answers as files, by project and key. */
export type KeptAnswers = ReturnType<typeof createKeptAnswers>;

export function createKeptAnswers({ folder, now, maxMb, warn }: KeptAnswersOptions) {
  let total = 0;
  let scannedAt = Number.NEGATIVE_INFINITY;
  let waiting = 0;
  let failed = false;
  let work = Promise.resolve();

  /** Runs one job after the other. Logs once why nothing is kept, until something is kept again. */
  function enqueue(job: () => Promise<void>): Promise<void> {
    work = work.then(job).catch((error) => {
      if (!failed) warn(`answers are not kept for replays (replay.ttl): ${messageOf(error)}`);
      failed = true;
    });
    return work;
  }

  async function write(name: string, answer: KeptAnswer): Promise<void> {
    const packed = pack(answer);
    if (packed.length > maxMb() * MB * KEPT_SHARE) return;
    await makeFolder(folder);
    await checkSpace(folder);
    const file = join(folder, name);
    await replaceFile(file, packed);
    // The end of its time, by which `trim` goes without reading it.
    await utimes(file, answer.until / 1_000, answer.until / 1_000);
    failed = false;
    total += blocks(packed.length);
    if (total > maxMb() * MB) await trim();
  }

  /** Deletes what has expired, and what would expire first beyond the limit. */
  async function trim(): Promise<void> {
    scannedAt = now();
    const names = (await hasFolder(folder)) ? (await readdir(folder)).filter((name) => NAME.test(name)) : [];
    const files: { file: string; size: number; until: number }[] = [];
    for (const name of names) {
      const file = join(folder, name);
      const found = await stat(file).catch(() => undefined);
      if (found)
        files.push({ file, size: blocks(found.size), until: name.endsWith(TEMPORARY) ? 0 : found.mtimeMs });
    }
    files.sort((a, b) => a.until - b.until);
    total = files.reduce((sum, { size }) => sum + size, 0);
    const most = total > maxMb() * MB ? maxMb() * MB * KEPT_SHARE : total;
    for (const { file, size, until } of files) {
      if (total <= most && until > now()) return;
      await rm(file, { force: true });
      total -= size;
    }
  }

  return {
    folder,
    /** The answer of that key, if it was kept less than `ttlMs` ago. A file that can't be read is none. */
    async find(projectId: number, key: string, ttlMs: number): Promise<KeptAnswer | undefined> {
      const bytes = await readNoLink(join(folder, nameOf(projectId, key))).catch(() => undefined);
      const answer = bytes && orElse(() => unpack(bytes), undefined);
      return answer && isFresh(answer, now(), ttlMs) ? answer : undefined;
    },
    /** Resolves when it is written, or has failed to be. */
    async keep(projectId: number, key: string, answer: KeptAnswer): Promise<void> {
      const size = answer.body.length;
      if (waiting + size > MAX_WAITING_BYTES) return;
      waiting += size;
      await enqueue(() => write(nameOf(projectId, key), answer));
      waiting -= size;
    },
    /** Deletes what has expired, once an hour. */
    sweep: (): Promise<void> =>
      Math.abs(now() - scannedAt) < SCAN_EVERY_MS ? Promise.resolve() : enqueue(trim),
    /** Resolves when everything is written. */
    settled: (): Promise<void> => work,
  };
}

/** Whether it may still be replayed. One from the future was kept by a clock that was set back since. */
export const isFresh = ({ at, until }: KeptAnswer, now: number, ttlMs: number): boolean =>
  at <= now && now < until && now < at + ttlMs;

const blocks = (bytes: number): number => Math.ceil(bytes / BLOCK_BYTES) * BLOCK_BYTES;

/** A line of JSON, then the body. */
function pack({ body, ...about }: KeptAnswer): Buffer {
  const head: Head = { ...about, digest: digestOf(body) };
  return Buffer.concat([Buffer.from(`${JSON.stringify(head)}\n`), body]);
}

/** Undefined for a file that is not as it was written. Throws if its head isn't JSON. */
function unpack(bytes: Buffer): KeptAnswer | undefined {
  const start = bytes.indexOf('\n') + 1;
  // Only gw writes these files.
  const { digest, ...about } = JSON.parse(bytes.toString('utf8', 0, start)) as Head;
  const body = bytes.subarray(start);
  return digest === digestOf(body) ? { ...about, body } : undefined;
}

const digestOf = (body: Buffer): string => createHash('sha256').update(body).digest('base64');

/** Deletes the answers that are kept of a project, or all, and the folder unless others have put files there. */
export async function removeAnswers(
  folder: string,
  projectId?: number,
): Promise<{ answers: number; bytes: number }> {
  const removed = { answers: 0, bytes: 0 };
  // gw has written nothing through a link.
  if (!(await hasFolder(folder).catch(() => false))) return removed;
  for (const name of await readdir(folder)) {
    const [, project] = NAME.exec(name) ?? [];
    if (project === undefined || (projectId !== undefined && Number(project) !== projectId)) continue;
    const file = join(folder, name);
    const size = await stat(file).then(
      ({ size }) => size,
      () => 0,
    );
    await rm(file, { force: true });
    removed.bytes += size;
    if (name.endsWith(SUFFIX)) removed.answers++;
  }
  await rmdir(folder).catch(() => {});
  return removed;
}
