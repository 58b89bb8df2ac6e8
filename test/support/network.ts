import { createNetwork, type Network } from '../../src/network/network.ts';

/** The way out of a machine with these variables, and no settings. */
export const networkIn = (env: Record<string, string> = {}): Network =>
  createNetwork({ proxyUrl: '', caFile: '', env });

export const DIRECT = networkIn();
