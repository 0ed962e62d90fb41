// What the page asks of the lab. Of one kind of question only the newest counts.

import { Inspection } from "heed/data.js";

// Names this browser tab, so that its newer questions take the place of its older ones.
export const client = Array.from(crypto.getRandomValues(new Uint8Array(12)), (one) => (one % 36).toString(36)).join("");

export class Refused extends Error {
  constructor(message, isStale = false) {
    super(message);
    this.isStale = isStale;
  }
}

async function answered(path, options = {}) {
  let response;
  try {
    response = await fetch(path, options);
  } catch {
    if (options.signal?.aborted) throw new Refused("a newer question was asked", true);
    throw new Refused("The lab does not answer: it has ended, or is starting. Start it again with heed lab.");
  }
  if (response.ok) return response;
  let told = {};
  try {
    told = await response.json();
  } catch {
    // not JSON: an error of the server itself
  }
  throw new Refused(told.error || `The lab failed (${response.status}); its terminal says why.`, Boolean(told.stale));
}

const asking = new Map(); // by path and client, so that a newer question ends the older one

async function posted(path, body) {
  const key = `${path} ${body.client}`;
  asking.get(key)?.abort();
  const own = new AbortController();
  asking.set(key, own);
  const headers = { "content-type": "application/json" };
  return answered(path, { method: "POST", headers, body: JSON.stringify(body), signal: own.signal });
}

export const models = async () => (await (await answered("/api/models")).json()).models;

export const watched = async (number, known) =>
  (await answered(`/api/watch/${number}?known=${known.join(".")}`)).json();

export const why = async (body) => (await posted("/api/why", body)).json();

// An inspection: the length of its JSON in four bytes, the JSON, its arrays.
export async function inspected(body) {
  let bytes;
  try {
    bytes = await (await posted("/api/inspect", body)).arrayBuffer();
  } catch (error) {
    throw error instanceof Refused ? error : new Refused("the answer was cut short", error.name === "AbortError");
  }
  const length = new DataView(bytes).getUint32(0, true);
  const summary = JSON.parse(new TextDecoder().decode(new Uint8Array(bytes, 4, length)));
  return new Inspection({ summary, bytes: bytes.slice(4 + length) });
}
