COPY t (v, few, s, p, filler) FROM ':copy_file';
