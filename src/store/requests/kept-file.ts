import { constants } from 'node:fs';
import { lstat, open } from 'node:fs/promises';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { gunzip, gzip } from 'node:zlib';
import { formatRequestId, parseRequestId, type RequestId } from '../../ids.ts';

/** What is kept of a request that the optimizer changed. */
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

export const fileOf = (folder: string, id: RequestId) => join(folder, formatRequestId(id) + SUFFIX);

/** The request of a file; undefined for a name that gw didn't give. */
export function requestOf(name: string): RequestId | undefined {
  const id = name.endsWith(SUFFIX) ? parseRequestId(name.slice(0, -SUFFIX.length)) : undefined;
  return id !== undefined && formatRequestId(id) + SUFFIX === name ? id : undefined;
}

/** Whether the folder exists. Throws if it isn't a folder: a link could lead gw to write and delete elsewhere. */
export async function hasFolder(folder: string): Promise<boolean> {
  const stat = await lstat(folder).catch((error: NodeJS.ErrnoException) => {
    if (error.code === 'ENOENT') return undefined;
    throw error;
  });
  if (stat && !stat.isDirectory()) throw new Error(`${folder} is not a folder of gw's. Remove it`);
  return stat !== undefined;
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

async function readNoLink(path: string): Promise<Buffer | undefined> {
  try {
    // Windows has no O_NOFOLLOW. Non-blocking, so that a pipe in the file's place can't hold gw up.
    const flags = constants.O_RDONLY | (constants.O_NOFOLLOW ?? 0) | (constants.O_NONBLOCK ?? 0);
    const file = await open(path, flags);
    try {
      return await file.readFile();
    } finally {
      await file.close();
    }
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return undefined;
    throw error;
  }
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
