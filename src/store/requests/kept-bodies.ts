import { readdir, rm, rmdir, stat } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { messageOf } from '../../errors.ts';
import { formatRequestId, parseRequestId, type RequestId } from '../../ids.ts';
import type { Db } from '../database/open.ts';
import { checkSpace, hasFolder, makeFolder, readNoLink, replaceFile, TEMPORARY } from './private-folder.ts';

/** Kept bodies of a request that the optimizer changed. */
export interface RequestBodies<Body = Buffer> {
  /** The client's API: `chat/completions`, `messages` or `responses`. */
  endpoint: string;
  /** As the client sent it. */
  client: Body;
  /** After the optimizer. */
  optimized: Body;
  /** After gw's other edits and, if it differs from `endpoint`, in the words of the API at `sentEndpoint`. */
  sent: Body;
  sentEndpoint: string;
}

/** How long bodies are kept. */
export const KEPT_MS = 24 * 3_600_000;
/** Requests whose three bodies are larger together are not kept. */
export const MAX_BODIES_BYTES = 24 * 1024 * 1024;
const MAX_HEAD_BYTES = 64 * 1024;

interface Head {
  endpoint: string;
  sentEndpoint: string;
  /** Lengths of the bodies; 0 for `sent` if it is the same as `optimized`. */
  lengths: [client: number, optimized: number, sent: number];
}

const SUFFIX = '.gz';

const fileOf = (folder: string, id: RequestId) => join(folder, formatRequestId(id) + SUFFIX);

/** The request of a file; undefined for a name that gw didn't give. */
function requestOf(name: string): RequestId | undefined {
  const id = name.endsWith(SUFFIX) ? parseRequestId(name.slice(0, -SUFFIX.length)) : undefined;
  return id !== undefined && formatRequestId(id) + SUFFIX === name ? id : undefined;
}

/** The bodies as one compressed file: a line of JSON with their lengths, then their bytes. */
export async function packBodies(bodies: RequestBodies): Promise<Buffer> {
  const { endpoint, sentEndpoint, client, optimized, sent } = bodies;
  const parts = sent.equals(optimized) ? [client, optimized] : [client, optimized, sent];
  const lengths = [client.length, optimized.length, parts[2]?.length ?? 0];
  const head = `${JSON.stringify({ endpoint, sentEndpoint, lengths })}\n`;
  // A copy, because bodies may be in shared memory. Level 1 compresses JSON to about a quarter.
  return promisify(gzip)(Buffer.concat([Buffer.from(head), ...parts]), { level: 1 });
}

/** Reads the bodies that are kept of a request; undefined if there are none. Throws if the file can't be read. */
export async function readBodies(folder: string, id: RequestId): Promise<RequestBodies<string> | undefined> {
  if (!(await hasFolder(folder))) return undefined;
  const packed = await readNoLink(fileOf(folder, id));
  return (
    packed && unpack(await promisify(gunzip)(packed, { maxOutputLength: MAX_BODIES_BYTES + MAX_HEAD_BYTES }))
  );
}

function unpack(bytes: Buffer): RequestBodies<string> {
  const start = bytes.indexOf('\n') + 1;
  // Only gw writes these files.
  const { endpoint, sentEndpoint, lengths } = JSON.parse(bytes.toString('utf8', 0, start)) as Head;
  const [clientEnd, optimizedEnd] = [start + lengths[0], start + lengths[0] + lengths[1]];
  const optimized = bytes.toString('utf8', clientEnd, optimizedEnd);
  return {
    endpoint,
    sentEndpoint,
    client: bytes.toString('utf8', start, clientEnd),
    optimized,
    sent: lengths[2] > 0 ? bytes.toString('utf8', optimizedEnd, optimizedEnd + lengths[2]) : optimized,
  };
}

/** Keeps the bodies of requests that the optimizer changed, for `gw requests ID --diff`. */
export type KeptBodies = ReturnType<typeof createKeptBodies>;

interface KeptBodiesOptions {
  folder: string;
  db: Db;
  now: () => number;
  isOn: () => boolean;
  warn: (message: string) => void;
  /** Limit of all files together. */
  maxBytes?: number;
  maxFiles?: number;
  /** Limit of the bodies that wait to be written. Beyond, the disk doesn't keep up, and requests are not kept. */
  maxWaitingBytes?: number;
}

const MB = 1024 ** 2;
/** Default limit of all files together. */
export const MAX_BYTES = 512 * MB;
/** A scan of the folder takes 20 ms for so many files. */
export const MAX_FILES = 10_000;
const SCAN_EVERY_MS = 3_600_000;

export function createKeptBodies(options: KeptBodiesOptions) {
  const { folder, db, now, isOn, warn } = options;
  const { maxBytes = MAX_BYTES, maxFiles = MAX_FILES, maxWaitingBytes = 2 * MAX_BODIES_BYTES } = options;
  const arrivalOf = arrivalLookup(db);
  /** Bytes of each file, the oldest first. */
  let sizes = new Map<RequestId, number>();
  let total = 0;
  let scannedAt = Number.NEGATIVE_INFINITY;
  let waiting = 0;
  let failed = false;
  let work = Promise.resolve();

  /** Logs once why nothing is kept, until something is kept again. */
  function report(reason: string): void {
    if (!failed) warn(`the bodies of requests are not kept (requests.keep_bodies): ${reason}`);
    failed = true;
  }

  /** Runs one job after the other. */
  function enqueue(job: () => Promise<void>): Promise<void> {
    work = work.then(job).catch((error) => report(messageOf(error)));
    return work;
  }

  async function write(id: RequestId, bodies: RequestBodies): Promise<void> {
    if (!isOn()) return;
    const packed = await packBodies(bodies);
    await makeFolder(folder);
    const file = fileOf(folder, id);
    await checkSpace(folder);
    await replaceFile(file, packed);
    // Deleted while they were written: the setting went off, or the request's record went.
    if (!isOn() || arrivalOf(id) === undefined) return rm(file, { force: true });
    total += packed.length - (sizes.get(id) ?? 0);
    sizes.set(id, packed.length);
    failed = false;
    await trim();
  }

  async function sweep(): Promise<void> {
    if (!isOn()) {
      await removeBodies(folder);
      sizes = new Map();
      total = 0;
      return;
    }
    if (Math.abs(now() - scannedAt) >= SCAN_EVERY_MS) await scan();
    await trim();
  }

  /** Finds the files of earlier daemons. Runs while nothing is written, as all jobs do. */
  async function scan(): Promise<void> {
    scannedAt = now();
    const names = (await hasFolder(folder)) ? await readdir(folder) : [];
    for (const name of names) if (isLeftover(name)) await rm(join(folder, name), { force: true });
    const ids = names.flatMap((name) => requestOf(name) ?? []).sort((a, b) => a - b);
    const found = new Map<RequestId, number>();
    for (const id of ids) found.set(id, sizes.get(id) ?? (await sizeOf(fileOf(folder, id))));
    sizes = found;
    total = [...found.values()].reduce((sum, size) => sum + size, 0);
  }

  /** Deletes what is too old, and the oldest beyond the limits. */
  async function trim(): Promise<void> {
    const expired = now() - KEPT_MS;
    for (const [id, size] of sizes) {
      // Requests are in the order of their times.
      if (total <= maxBytes && sizes.size <= maxFiles && (arrivalOf(id) ?? 0) >= expired) return;
      await rm(fileOf(folder, id), { force: true });
      sizes.delete(id);
      total -= size;
    }
  }

  return {
    folder,
    /** Writes them later. Whatever fails is logged, and harms no request. A request that is sent again replaces its own. */
    keep(id: RequestId, bodies: RequestBodies) {
      const size = bodies.client.length + bodies.optimized.length + bodies.sent.length;
      if (size > MAX_BODIES_BYTES) return;
      if (waiting + size > maxWaitingBytes) return report('the disk is too slow');
      waiting += size;
      void enqueue(() => write(id, bodies)).then(() => {
        waiting -= size;
      });
    },
    /** Deletes what is older than 24 hours, the oldest beyond the limit, or all once the setting is off. */
    sweep: (): Promise<void> => enqueue(sweep),
    /** Resolves when everything is written. */
    settled: (): Promise<void> => work,
  };
}

/** Deletes all that is kept, and the folder unless somebody else has put files there. */
export async function removeBodies(folder: string): Promise<void> {
  // gw has written nothing through a link.
  if (!(await hasFolder(folder).catch(() => false))) return;
  for (const name of await readdir(folder))
    if (requestOf(name) !== undefined || isLeftover(name)) await rm(join(folder, name), { force: true });
  await rmdir(folder).catch(() => {});
}

/** Deletes the bodies of requests that are not on record any more. */
export async function removeUnrecorded(folder: string, db: Db): Promise<void> {
  if (!(await hasFolder(folder))) return;
  const arrivalOf = arrivalLookup(db);
  for (const name of await readdir(folder)) {
    const id = requestOf(name);
    if (id !== undefined && arrivalOf(id) === undefined) await rm(fileOf(folder, id), { force: true });
  }
}

/** When a request came in; undefined if it is not on record. */
function arrivalLookup(db: Db): (id: RequestId) => number | undefined {
  const find = db
    .prepare<{ id: RequestId }, number>(`SELECT at FROM journal WHERE id = @id UNION ALL SELECT at
      FROM requests WHERE id = @id`)
    .pluck();
  return (id) => find.get({ id });
}

/** Whether a daemon that was killed left the file half written. */
const isLeftover = (name: string) =>
  name.endsWith(TEMPORARY) && requestOf(name.slice(0, -TEMPORARY.length)) !== undefined;

const sizeOf = (file: string) =>
  stat(file).then(
    ({ size }) => size,
    () => 0,
  );
