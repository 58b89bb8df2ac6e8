import { createRequire } from 'node:module';
import type {
  buildConnector as BuildConnector,
  errors as Errors,
  Pool as PoolClass,
  ProxyAgent as ProxyAgentClass,
} from 'undici';

// Imports single files of undici: the whole package loads fetch, WebSocket, caches and mocks, 8 MB that gw doesn't use.
const require = createRequire(import.meta.url);

export const Pool: typeof PoolClass = require('undici/lib/dispatcher/pool.js');
export type Pool = PoolClass;
export type Connector = BuildConnector.connector;
export const errors: typeof Errors = require('undici/lib/core/errors.js');
export const buildConnector: typeof BuildConnector = require('undici/lib/core/connect.js');

/** Symbol of a socket's parser. */
export const parserKey: symbol = require('undici/lib/core/symbols.js').kParser;

/**
 * Loads the whole package, which adds the method `connect`; only for the first tunnel, as most machines have no proxy.
 */
export const loadProxyAgent = (): typeof ProxyAgentClass => require('undici').ProxyAgent;
