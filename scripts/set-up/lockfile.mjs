/**
 * @typedef {{ version?: string, integrity?: string, resolved?: string, link?: boolean, optional?: boolean, devOptional?: boolean }} LockedPackage
 * @typedef {{ packages: Record<string, LockedPackage> }} Lockfile
 */

/**
 * Whether node_modules holds what package-lock.json asks for. npm writes what it installed to node_modules/.package-lock.json,
 * as its last step; comparing the two needs no stamp of our own and lets a developer's `npm install` count.
 *
 * Optional packages may be absent: most are binaries for other machines.
 *
 * @param {Lockfile} wanted package-lock.json
 * @param {Lockfile | undefined} installed node_modules/.package-lock.json
 */
export function isInstalled(wanted, installed) {
  if (installed === undefined) return false;
  return Object.entries(wanted.packages).every(([path, want]) => {
    if (!path.startsWith("node_modules/")) return true;
    const have = installed.packages[path];
    if (have === undefined) return want.optional === true || want.devOptional === true;
    return have.version === want.version && have.integrity === want.integrity && have.link === want.link;
  });
}

/**
 * @param {Lockfile} lockfile
 * @returns {string} the version of Node that the project runs on
 */
export function lockedNodeVersion(lockfile) {
  const version = lockfile.packages["node_modules/node"]?.version;
  if (version === undefined) throw new Error("package-lock.json holds no package `node`");
  return version;
}
