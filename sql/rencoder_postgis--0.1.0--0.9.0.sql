/* Update script of rencoder_postgis 0.1.0 to 0.9.0 */

-- complain if script is sourced in psql, rather than via ALTER EXTENSION
\echo Use "ALTER EXTENSION rencoder_postgis UPDATE TO '0.9.0'" to load this file. \quit
