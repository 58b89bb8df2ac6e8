import { execFile } from 'node:child_process';
import { existsSync, readdirSync, readFileSync, readlinkSync } from 'node:fs';
import { promisify } from 'node:util';
import { fetchHealth } from './find.ts';

interface PortOwner {
  pid: number;
  name: string;
}

/** The message for a taken port: who uses it, and the two commands that help. */
export async function portInUseMessage(port: number): Promise<string> {
  const own = { host: '127.0.0.1', port };
  const isGw = (await fetchHealth({ ...own, tls: false })) ?? (await fetchHealth({ ...own, tls: true }));
  const owner = await portOwner(port);
  const who = isGw
    ? `another gw${owner ? ` (pid ${owner.pid})` : ''}, with another state directory`
    : owner
      ? `${owner.name} (pid ${owner.pid}), which is not gw`
      : 'another program';
  const free = owner ? `kill ${owner.pid}` : `sudo lsof -nP -iTCP:${port} -sTCP:LISTEN`;
  return `port ${port} is used by ${who}.\n  Use another port:  gw start --port ${port + 1}\n  Or free this one:  ${free}`;
}

/** The process that listens on a TCP port; undefined if there is none or this user cannot see it. */
export async function portOwner(port: number): Promise<PortOwner | undefined> {
  try {
    return process.platform === 'linux' ? ownerFromProc(port) : await ownerFromLsof(port);
  } catch {
    return undefined;
  }
}

/** https://www.kernel.org/doc/html/latest/networking/proc_net_tcp.html: local address, state 0A (listening), inode. */
function ownerFromProc(port: number): PortOwner | undefined {
  const hex = port.toString(16).toUpperCase().padStart(4, '0');
  const inodes = ['/proc/net/tcp', '/proc/net/tcp6'].filter(existsSync).flatMap((file) =>
    readFileSync(file, 'utf8')
      .split('\n')
      .map((line) => line.trim().split(/\s+/))
      .filter(([, local, , state]) => local?.endsWith(`:${hex}`) && state === '0A')
      .map((fields) => `socket:[${fields[9]}]`),
  );
  const pid = readdirSync('/proc').find((name) => /^\d+$/.test(name) && hasOpen(name, inodes));
  if (pid === undefined) return undefined;
  return { pid: Number(pid), name: readFileSync(`/proc/${pid}/comm`, 'utf8').trim() };
}

function hasOpen(pid: string, links: string[]): boolean {
  try {
    return readdirSync(`/proc/${pid}/fd`).some((fd) => links.includes(readlinkSync(`/proc/${pid}/fd/${fd}`)));
  } catch {
    // The process belongs to another user or has just ended.
    return false;
  }
}

async function ownerFromLsof(port: number): Promise<PortOwner | undefined> {
  const { stdout } = await promisify(execFile)('lsof', ['-nP', `-iTCP:${port}`, '-sTCP:LISTEN', '-Fpc']);
  const pid = /^p(\d+)$/m.exec(stdout)?.[1];
  const name = /^c(.+)$/m.exec(stdout)?.[1];
  return pid && name ? { pid: Number(pid), name } : undefined;
}
